//go:build !wasm && !tinygo.wasm

package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// unknown finds the first member of a JSON text that the type doesn't have, and says where it stands, which
// encoding/json doesn't. Names must be spelt as the type has them. What is no JSON, or of another kind than the type,
// is left to the decoder, whose errors come in the text's order as well.
func unknown(b []byte, t reflect.Type) error {
	w := walker{d: json.NewDecoder(bytes.NewReader(b)), members: map[reflect.Type]map[string]reflect.Type{}}
	_, err := w.readValue(t, manifestDepth)
	return err
}

// manifestDepth is how deep a manifest may nest: the conditions of a view do, a little.
const manifestDepth = 100

type walker struct {
	d       *json.Decoder
	path    []any // member names and places in lists
	members map[reflect.Type]map[string]reflect.Type
}

// readValue reads one value; t is nil where the type has nothing of it. ok is false when there is nothing to be read
// any more.
func (w *walker) readValue(t reflect.Type, depth int) (ok bool, _ error) {
	if depth == 0 {
		return false, fmt.Errorf("%.80s…: nested deeper than %d", w.position(), manifestDepth)
	}
	token, err := w.d.Token()
	if err != nil {
		return false, nil
	}

	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	level := len(w.path)
	w.path = append(w.path, nil)

	switch token {
	case json.Delim('['):
		var element reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			element = t.Elem()
		}
		for i := 0; w.d.More(); i++ {
			w.path[level] = i
			if ok, err := w.readValue(element, depth-1); !ok || err != nil {
				return ok, err
			}
		}
	case json.Delim('{'):
		for w.d.More() {
			name, err := w.d.Token()
			if err != nil {
				return false, nil
			}
			w.path[level] = name
			var member reflect.Type
			if t != nil && t.Kind() == reflect.Struct {
				if member, ok = w.fieldTypes(t)[name.(string)]; !ok {
					return false, fmt.Errorf("%s: unknown field: there are %s", w.position(), strings.Join(members(t), ", "))
				}
			}
			if ok, err := w.readValue(member, depth-1); !ok || err != nil {
				return ok, err
			}
		}
	default:
		w.path = w.path[:level]
		return true, nil
	}

	w.path = w.path[:level]
	_, err = w.d.Token() // the end of the list or object
	return err == nil, nil
}

// position returns where in the text the walker is.
func (w *walker) position() string {
	var b strings.Builder
	for _, p := range w.path {
		switch p := p.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", p)
		case string:
			b.WriteString("." + p)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// fieldTypes returns the types of a struct's fields by their names in JSON.
func (w *walker) fieldTypes(t reflect.Type) map[string]reflect.Type {
	known := w.members[t]
	if known == nil {
		known = map[string]reflect.Type{}
		for i, name := range members(t) {
			known[name] = t.Field(i).Type
		}
		w.members[t] = known
	}
	return known
}

// members are the names of a struct's fields in JSON.
func members(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
