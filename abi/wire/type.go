package wire

import "unsafe"

// Kind is how a field travels: one of the kinds below, alone or with Ptr, Rep or Map.
type Kind uint8

// The kinds of a single value.
const (
	String Kind = 1 + iota
	Bytes
	Message // Elem is its type
	Bool
	Int32
	Int64
	Double
)

// How often a value is there. Without one of these a field is always there, and its zero value is not written.
const (
	Ptr  Kind = 0x10 // pointer: nil is absent
	Rep  Kind = 0x20 // slice
	Map  Kind = 0x30 // slice of entries, with Message; the entry type has the key, a string, at offset 0
	many Kind = 0x20
	base Kind = 0x0f
)

// Field is one field of a struct.
type Field struct {
	Num    uint32 // on the wire; 0 for a field that exists in JSON alone
	Kind   Kind
	Keep   bool    // JSON writes the zero value too
	Offset uintptr // in the struct
	Elem   *Type   // of messages; nil stands for the type that the field is in
	JSON   string  // member name; empty puts the members of a message among those of the struct around it
}

// Form says what a type is besides a struct with fields.
type Form uint8

// The forms of a type.
const (
	Plain    Form = iota
	Bare          // in JSON the value of its only field: a named list inside a map
	instant       // Time
	instants      // MicroTime
	quantity
	choice // IntOrString
	raw    // in JSON any value, kept as it is
)

// Type is the table of a struct. Its fields are in ascending order of Num.
type Type struct {
	Size   uintptr
	Form   Form
	Spare  uintptr // offset of the Unknown field, plus one; 0: the struct has none
	New    func(old unsafe.Pointer, n, size int) unsafe.Pointer
	Fields []Field
}

// Unknown holds what a decoder met and had no field for, as it came: protobuf fields, or JSON members behind a NUL
// byte.
type Unknown string

// slice is the memory of any slice.
type slice struct {
	ptr      unsafe.Pointer
	len, cap int
}

// str is the memory of any string.
type str struct {
	ptr unsafe.Pointer
	len int
}

func (s *slice) at(i int, t *Type) unsafe.Pointer { return unsafe.Add(s.ptr, uintptr(i)*t.Size) }

func (f *Field) elem(t *Type) *Type {
	if f.Elem == nil {
		return t
	}
	return f.Elem
}

func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (t *Type) spare(p unsafe.Pointer) *Unknown {
	if t.Spare == 0 {
		return nil
	}
	return (*Unknown)(unsafe.Add(p, t.Spare-1))
}
