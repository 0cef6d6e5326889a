package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// DecodedJSONSize is DecodedSize for the message in JSON. Braces and brackets in texts are texts.
func (m *Message) DecodedJSONSize(b []byte, most int) (int, error) {
	d := decodedJSON{decodedBytes{most: most}, json.NewDecoder(bytes.NewReader(b))}
	err := d.addValue(&Field{Kind: Struct, Message: m}, 0)
	return d.size, err
}

type decodedJSON struct {
	decodedBytes
	tokens *json.Decoder
}

// addValue adds the next value of the text, which belongs to a field; nil: to none that there is.
func (d *decodedJSON) addValue(f *Field, depth int) error {
	if depth > decodedDepth {
		return fmt.Errorf("JSON is nested deeper than %d", decodedDepth)
	}
	token, err := d.tokens.Token()
	if err != nil {
		return err
	}

	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			err = d.addElements(f, depth)
		} else {
			err = d.addMembers(f, depth)
		}
		if err != nil {
			return err
		}
		_, err = d.tokens.Token() // the end
		return err
	case string:
		return d.add(fieldSize + len(token))
	}
	return d.add(fieldSize)
}

func (d *decodedJSON) addElements(f *Field, depth int) error {
	for d.tokens.More() {
		if err := d.addValue(f, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// addMembers adds those of an object, and what it is itself: a map, a struct, or nothing that is known.
func (d *decodedJSON) addMembers(f *Field, depth int) error {
	own := fieldSize
	var m *Message
	if f != nil && !f.Map && f.Kind == Struct {
		if m = f.Message; m.typ != nil {
			own = int(m.typ.Size())
		}
	}
	if err := d.add(own); err != nil {
		return err
	}

	for d.tokens.More() {
		name, err := d.tokens.Token()
		if err != nil {
			return err
		}
		var member *Field
		switch {
		case m != nil:
			member = m.jsonField(name.(string))
		case f != nil && f.Map:
			value := *f
			value.Map, member = false, &value
		}
		if member == nil || f.Map {
			err = d.add(entrySize + len(name.(string)))
		}
		if err == nil {
			err = d.addValue(member, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// jsonField returns the field that encoding/json takes a member for: it doesn't ask for capitals.
func (m *Message) jsonField(name string) *Field {
	for _, f := range m.fields {
		if f.Inline {
			if inner := f.Message.jsonField(name); inner != nil {
				return inner
			}
		} else if strings.EqualFold(f.JSON, name) {
			return f
		}
	}
	return nil
}
