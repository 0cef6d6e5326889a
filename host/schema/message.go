package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kind is what a field holds.
type Kind uint8

// The kinds. From Time on they are messages on the wire and scalars in JSON.
const (
	String Kind = iota + 1
	Bool
	Int
	Float
	Bytes
	Struct // a message, described by Field.Message
	Time
	MicroTime
	Duration
	Quantity
	IntOrString
	RawExtension // any JSON
	FieldsV1     // any JSON
	JSON         // any JSON: bytes on the wire, the text itself
)

// Message describes a message: a struct of k8s.io/api, an object that isn't built in, or JSON of which no schema is
// known.
type Message struct {
	// Name is the Go type's, such as k8s.io/api/core/v1.Pod.
	Name string
	// List tells that JSON has a list here, which is field 1 of the message on the wire (authentication's ExtraValue).
	List bool

	fields []*Field // sorted by number
	typ    reflect.Type
	object bool // has ObjectMeta as its metadata, so there are derived paths
	json   bool // no message on the wire, but JSON: it has whatever field is asked for
}

// Field describes a field of a message.
type Field struct {
	Number int32
	// JSON is the name in JSON, empty where Inline.
	JSON string
	Kind Kind
	// Message is set where Kind is Struct, or JSON.
	Message *Message
	// Repeated fields are lists.
	Repeated bool
	// Map fields have strings as keys; Kind and Message are the values'. On the wire they are entries with the key in
	// field 1, the value in field 2.
	Map bool
	// Optional fields are pointers in Go: absent isn't zero.
	Optional bool
	// Inline messages have their fields in the outer object in JSON.
	Inline bool
}

// Fields returns the fields, sorted by number. They must not be changed.
func (m *Message) Fields() []*Field { return m.fields }

// Field returns the field with the number, nil if there is none.
func (m *Message) Field(number int32) *Field {
	i, ok := slices.BinarySearchFunc(m.fields, number, func(f *Field, n int32) int { return int(f.Number - n) })
	if !ok {
		return nil
	}
	return m.fields[i]
}

// Lookup returns the field with the JSON name, with the inline fields that lead to it before it; nil if there is none.
func (m *Message) Lookup(json string) []*Field {
	for _, f := range m.fields {
		if f.JSON == json && !f.Inline {
			return []*Field{f}
		}
	}
	for _, f := range m.fields {
		if f.Inline {
			if chain := f.Message.Lookup(json); chain != nil {
				return append([]*Field{f}, chain...)
			}
		}
	}
	return nil
}

// fieldNames returns the JSON names of all fields.
func (m *Message) fieldNames() []string {
	var all []string
	for _, f := range m.fields {
		if f.Inline {
			all = append(all, f.Message.fieldNames()...)
		} else {
			all = append(all, f.JSON)
		}
	}
	return all
}

func (m *Message) String() string { return m.Name }

// special are the types that marshal themselves.
var special = map[reflect.Type]Kind{
	reflect.TypeFor[metav1.Time]():          Time,
	reflect.TypeFor[metav1.MicroTime]():     MicroTime,
	reflect.TypeFor[metav1.Duration]():      Duration,
	reflect.TypeFor[resource.Quantity]():    Quantity,
	reflect.TypeFor[intstr.IntOrString]():   IntOrString,
	reflect.TypeFor[runtime.RawExtension](): RawExtension,
	reflect.TypeFor[metav1.FieldsV1]():      FieldsV1,
}

var messages = struct {
	sync.Mutex
	of map[reflect.Type]*Message
}{of: map[reflect.Type]*Message{}}

// MessageOf describes a Go struct by its tags.
func MessageOf(t reflect.Type) (*Message, error) {
	messages.Lock()
	defer messages.Unlock()
	b := builder{}
	m, err := b.message(t)
	if err != nil {
		return nil, err
	}
	for t, m := range b {
		messages.of[t] = m
	}
	return m, nil
}

// builder holds the messages that are being described, so that types may be recursive, and a failure leaves none of
// them behind.
type builder map[reflect.Type]*Message

func (b builder) message(t reflect.Type) (*Message, error) {
	if m := messages.of[t]; m != nil {
		return m, nil
	}
	if m := b[t]; m != nil {
		return m, nil
	}

	m := &Message{Name: t.PkgPath() + "." + t.Name(), typ: t}
	b[t] = m
	if t.Kind() == reflect.Slice {
		m.List = true
		f := &Field{Number: 1, JSON: "items", Repeated: true}
		m.fields = []*Field{f}
		return m, b.setKind(f, t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is no struct", t)
	}

	for i := range t.NumField() {
		sf := t.Field(i)
		tag, ok := sf.Tag.Lookup("protobuf")
		if !ok {
			if sf.IsExported() && sf.Type != reflect.TypeFor[metav1.TypeMeta]() {
				return nil, fmt.Errorf("%s: field %s has no protobuf tag", t, sf.Name)
			}
			continue
		}
		f, err := b.buildField(sf, tag)
		if err != nil {
			return nil, fmt.Errorf("%s: field %s: %w", t, sf.Name, err)
		}
		m.fields = append(m.fields, f)
		m.object = m.object || f.Number == 1 && sf.Type == reflect.TypeFor[metav1.ObjectMeta]() && f.JSON == "metadata"
	}

	slices.SortFunc(m.fields, func(x, y *Field) int { return int(x.Number - y.Number) })
	return m, nil
}

func (b builder) buildField(sf reflect.StructField, tag string) (*Field, error) {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return nil, fmt.Errorf("protobuf tag %q", tag)
	}

	n, err := strconv.ParseInt(parts[1], 10, 29)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("protobuf tag %q: field number", tag)
	}

	f := &Field{Number: int32(n)}
	json := strings.Split(sf.Tag.Get("json"), ",")
	f.JSON = json[0]
	f.Inline = sf.Anonymous && f.JSON == "" || slices.Contains(json[1:], "inline")
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		f.Optional = true
		t = t.Elem()
	}
	repeated := slices.Contains(parts, "rep")
	switch {
	case t.Kind() == reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("map with keys of %s", t.Key())
		}
		f.Map = true
		t = t.Elem()
	case t.Kind() == reflect.Slice &&
		(repeated || t.Name() == "" && t.Elem().Kind() != reflect.Uint8): // NodeSpec.taints is a list whose tag says opt
		f.Repeated = true
		t = t.Elem()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}

	if err := b.setKind(f, t); err != nil {
		return nil, err
	}
	if f.Inline && f.Kind != Struct {
		return nil, fmt.Errorf("inline, but no struct")
	}
	return f, nil
}

func (b builder) setKind(f *Field, t reflect.Type) (err error) {
	if k, ok := special[t]; ok {
		f.Kind = k
		return nil
	}

	switch t.Kind() {
	case reflect.String:
		f.Kind = String
	case reflect.Bool:
		f.Kind = Bool
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		f.Kind = Int
	case reflect.Float64, reflect.Float32:
		f.Kind = Float
	case reflect.Struct:
		f.Kind = Struct
		f.Message, err = b.message(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			f.Kind = Bytes
			return nil
		}
		f.Kind = Struct
		f.Message, err = b.message(t)
	default:
		err = fmt.Errorf("type %s is not supported", t)
	}

	return err
}
