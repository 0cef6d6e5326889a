package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi/wire"
)

// The fields of an object that isn't built in: its metadata as in any other object, and the JSON of all else it has,
// without apiVersion and kind.
const (
	metadataNumber = 1
	bodyNumber     = 2
)

// custom is the message of the objects that aren't built in.
var custom = sync.OnceValue(func() *Message {
	return &Message{Name: "a resource that isn't built in", object: true,
		fields: []*Field{metadata().Field(metadataNumber), body}}
})

func (m *Message) hasBody() bool { return m.Field(bodyNumber) == body }

// FromJSON appends the wire form of an object that isn't built in, as the API server gives it in JSON: its metadata in
// the bytes that Kubernetes itself would write in protobuf. Of the metadata only those fields are taken of which the
// mask keeps anything; nil takes all. apiVersion and kind alias object, and are escaped as there.
func FromJSON(dst, object []byte, mask *Mask) (raw, apiVersion, kind []byte, err error) {
	kept := keep
	if mask != nil {
		kept = mask.root.subNode(metadataNumber)
	}
	start := skipSpace(object, 0)
	if start >= len(object) || object[start] != '{' {
		return dst, nil, nil, badJSON(object, start, "expected an object")
	}

	// The metadata comes first on the wire and may come last in JSON.
	meta, err := memberOf(object, start, "metadata")
	if err != nil {
		return dst, nil, nil, err
	}

	if meta != nil && kept != nil {
		var at int
		dst, at = wire.Begin(dst, metadataNumber)
		if dst, err = metadata().Field(metadataNumber).Message.appendJSON(dst, meta, 0, kept); err != nil {
			return dst, nil, nil, fmt.Errorf("metadata%w", err)
		}
		dst = wire.End(dst, at)
	}

	dst, at := wire.Begin(dst, bodyNumber)
	dst = append(dst, '{')
	empty := true
	w := walkValue(object, start, 0)
	for {
		more, err := w.next()
		if err != nil {
			return dst, nil, nil, err
		}
		if !more {
			break
		}
		value := w.value
		if w.at, err = skipValue(object, value, w.depth); err != nil {
			return dst, nil, nil, err
		}
		switch {
		case isNamed(w.name, "metadata"):
		case isNamed(w.name, "apiVersion"):
			apiVersion = inQuotes(object[value:w.at])
		case isNamed(w.name, "kind"):
			kind = inQuotes(object[value:w.at])
		default:
			if !empty {
				dst = append(dst, ',')
			}
			empty = false
			dst = append(append(append(dst, '"'), w.name...), '"', ':')
			dst = append(dst, object[value:w.at]...)
		}
	}

	return wire.End(append(dst, '}'), at), apiVersion, kind, expectEnd(object, w.at)
}

func inQuotes(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	return v[1 : len(v)-1]
}

// JSON returns an object on the wire, of a resource that isn't built in, as the API server takes it.
func (r *Resource) JSON(raw []byte) ([]byte, error) {
	var meta, rest []byte
	err := Each(raw, func(number int32, content []byte) error {
		switch number {
		case metadataNumber:
			meta = append(meta[:len(meta):len(meta)], content...) // several are merged, as every decoder does
		case bodyNumber:
			rest = content
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	var m metav1.ObjectMeta
	if err := m.Unmarshal(meta); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}

	out := append(make([]byte, 0, len(raw)+len(raw)/2+100), `{"apiVersion":`...)
	for _, x := range []struct {
		value any
		after string
	}{{r.APIVersion(), `,"kind":`}, {r.Kind, `,"metadata":`}, {&m, ``}} {
		b, err := json.Marshal(x.value)
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), x.after...)
	}

	if len(bytes.TrimSpace(rest)) == 0 {
		return append(out, '}'), nil
	}
	err = EachMember(rest, func(name, value []byte) error {
		switch string(name) {
		case "apiVersion", "kind", "metadata":
			return fmt.Errorf("%q is no member of the body", name)
		}
		quoted, err := json.Marshal(string(name))
		if err != nil {
			return err
		}
		out = append(append(append(append(out, ','), quoted...), ':'), value...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the body (field %d): %w", bodyNumber, err)
	}

	return append(out, '}'), nil
}

// fieldsMost is the most fields that a message has which is read from JSON.
const fieldsMost = 24

// appendJSON appends the message that the object at b[i:], which was skipped before, is in JSON: fields by number, and
// those that aren't optional though they are zero, as Kubernetes writes them. It knows the kinds that metadata has.
// Members that are no fields are left out. Errors go on a path.
func (m *Message) appendJSON(dst, b []byte, i int, kept *node) ([]byte, error) {
	var values [fieldsMost]int // where they start; 0 for none
	if len(m.fields) > len(values) {
		return dst, fmt.Errorf(": %s has %d fields", m.Name, len(m.fields))
	}

	switch {
	case b[i] == 'n': // null
	case b[i] != '{':
		return dst, fmt.Errorf(": %w", badJSON(b, i, "expected an object"))
	default:
		w := walkValue(b, i, 0)
		for {
			more, err := w.next()
			if err != nil {
				return dst, fmt.Errorf(": %w", err)
			}
			if !more {
				break
			}
			for at, f := range m.fields {
				if isNamed(w.name, f.JSON) && kept.subNode(f.Number) != nil {
					values[at] = w.value
					if b[w.value] == 'n' {
						values[at] = 0
					}
				}
			}
			if w.at, err = skipValue(b, w.value, w.depth); err != nil {
				return dst, fmt.Errorf(": %w", err)
			}
		}
	}

	for at, f := range m.fields {
		sub := kept.subNode(f.Number)
		if sub == nil {
			continue
		}
		var err error
		switch v := values[at]; {
		case v == 0 && (f.Optional || f.Repeated || f.Map):
			continue
		case v == 0:
			dst, err = f.appendZero(dst)
		case f.Map:
			dst, err = f.appendMap(dst, b, v)
		case f.Repeated:
			dst, err = f.appendList(dst, b, v)
		default:
			dst, err = f.appendValue(dst, b, v)
		}
		if err != nil {
			return dst, fmt.Errorf(".%s%w", f.JSON, err)
		}
	}

	return dst, nil
}

func (f *Field) appendZero(dst []byte) ([]byte, error) {
	switch f.Kind {
	case Int, Bool:
		return wire.AppendUint(dst, uint32(f.Number), 0), nil
	case String, Time:
		return wire.AppendBytes(dst, uint32(f.Number), nil), nil
	}
	return dst, fmt.Errorf(": its kind isn't read from JSON")
}

func (f *Field) appendList(dst, b []byte, i int) ([]byte, error) {
	if b[i] != '[' {
		return dst, fmt.Errorf(": %w", badJSON(b, i, "expected a list"))
	}
	w := walkValue(b, i, 0)
	for {
		more, err := w.next()
		if err != nil || !more {
			return dst, err
		}
		if dst, err = f.appendValue(dst, b, w.value); err != nil {
			return dst, err
		}
		if w.at, err = skipValue(b, w.value, w.depth); err != nil {
			return dst, err
		}
	}
}

func (f *Field) appendMap(dst, b []byte, i int) ([]byte, error) {
	if b[i] != '{' {
		return dst, fmt.Errorf(": %w", badJSON(b, i, "expected an object"))
	}
	w := walkValue(b, i, 0)
	for {
		more, err := w.next()
		if err != nil || !more {
			return dst, err
		}
		var at int
		dst, at = wire.Begin(dst, uint32(f.Number))
		dst = appendQuoted(dst, 1, w.name)
		if dst, err = mapValue.appendValue(dst, b, w.value); err != nil {
			return dst, fmt.Errorf("[%s]%w", w.name, err)
		}
		dst = wire.End(dst, at)
		if w.at, err = skipValue(b, w.value, w.depth); err != nil {
			return dst, err
		}
	}
}

// mapValue is the value in an entry of a map of strings; metadata has no other maps.
var mapValue = &Field{Number: 2, Kind: String}

// appendQuoted appends a field of text, which is quoted in JSON.
func appendQuoted(dst []byte, number uint32, quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return wire.AppendBytes(dst, number, quoted)
	}
	dst, at := wire.Begin(dst, number)
	return wire.End(appendUnquoted(dst, quoted), at)
}

// appendValue appends a field with the value at b[i:].
func (f *Field) appendValue(dst, b []byte, i int) ([]byte, error) {
	number := uint32(f.Number)
	end, err := skipValue(b, i, 0)
	if err != nil {
		return dst, fmt.Errorf(": %w", err)
	}

	v := b[i:end]
	switch f.Kind {
	case String:
		if v[0] == 'n' {
			return wire.AppendBytes(dst, number, nil), nil
		}
		if v[0] != '"' {
			return dst, fmt.Errorf(": %w", badJSON(b, i, "expected a string"))
		}
		return appendQuoted(dst, number, v[1:len(v)-1]), nil
	case Bool:
		switch v[0] {
		case 't':
			return wire.AppendUint(dst, number, 1), nil
		case 'f':
			return wire.AppendUint(dst, number, 0), nil
		}
		return dst, fmt.Errorf(": %w", badJSON(b, i, "expected true or false"))
	case Int:
		n, ok := integer(v)
		if !ok {
			return dst, fmt.Errorf(": %w", badJSON(b, i, "expected an integer of 64 bits"))
		}
		return wire.AppendUint(dst, number, uint64(n)), nil
	case Time:
		t, err := time.Parse(time.RFC3339, sharedText(unquoted(inQuotes(v))))
		if err != nil {
			return dst, fmt.Errorf(": %w", badJSON(b, i, "expected a time in RFC 3339 format"))
		}
		dst, at := wire.Begin(dst, number)
		dst = wire.AppendUint(wire.AppendUint(dst, 1, uint64(t.Unix())), 2, 0) // Kubernetes has whole seconds
		return wire.End(dst, at), nil
	case FieldsV1:
		dst, at := wire.Begin(dst, number)
		return wire.End(wire.AppendBytes(dst, 1, v), at), nil
	case Struct:
		dst, at := wire.Begin(dst, number)
		if dst, err = f.Message.appendJSON(dst, b, i, keep); err != nil {
			return dst, err
		}
		return wire.End(dst, at), nil
	}

	return dst, fmt.Errorf(": its kind isn't read from JSON")
}

// SelectorFromJSON appends, on the wire, the LabelSelector that a value in JSON is: one by its members, an empty one
// included, else a map of labels that must all be there.
func SelectorFromJSON(dst, value []byte) ([]byte, error) {
	plain := false
	err := EachMember(value, func(name, _ []byte) error {
		plain = plain || string(name) != "matchLabels" && string(name) != "matchExpressions"
		return nil
	})
	if err != nil {
		return dst, err
	}
	i := skipSpace(value, 0)
	if plain {
		dst, err = labelsField().appendMap(dst, value, i)
	} else {
		dst, err = selector().appendJSON(dst, value, i, keep)
	}
	if err != nil {
		return dst, fmt.Errorf("the selector%w", err)
	}
	return dst, nil
}

// LabelsFromJSON appends the entries, as on the wire, of a map of strings that is an object in JSON.
func LabelsFromJSON(dst [][]byte, object []byte) ([][]byte, error) {
	i := skipSpace(object, 0)
	if _, err := skipValue(object, i, 0); err != nil {
		return dst, err
	}
	entries, err := labelsField().appendMap(make([]byte, 0, len(object)), object, i)
	if err != nil {
		return dst, fmt.Errorf("the labels%w", err)
	}
	err = Each(entries, func(_ int32, entry []byte) error {
		dst = append(dst, entry)
		return nil
	})
	return dst, err
}

// selector is the message of LabelSelectors, labels the map in it.
var selector = sync.OnceValue(func() *Message {
	m, err := MessageOf(reflect.TypeFor[metav1.LabelSelector]())
	if err != nil {
		panic(err) // a type of Kubernetes' own
	}
	return m
})

func labelsField() *Field { return selector().Field(1) }

// integer reads a number without fraction and exponent.
func integer(v []byte) (n int64, ok bool) {
	digits, sign := v, int64(1)
	if len(v) > 0 && v[0] == '-' {
		digits, sign = v[1:], -1
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	for _, c := range digits {
		d := int64(c - '0')
		if c < '0' || c > '9' || n*sign > (1<<63-1-d)/10 {
			return 0, false
		}
		n = n*10 + sign*d
	}
	return n, true
}

// sharedText returns the text without a copy, for as long as the bytes stay.
func sharedText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
