package wire

import "unsafe"

// IntOrString is a number, or a text such as "25%".
type IntOrString struct {
	Type   IntOrStringType
	IntVal int32
	StrVal string
}

// IntOrStringType says which of the two an IntOrString is.
type IntOrStringType int32

// The types of an IntOrString.
const (
	Int  IntOrStringType = 0
	Text IntOrStringType = 1
)

// FromInt makes an IntOrString of a number.
func FromInt(n int32) IntOrString { return IntOrString{IntVal: n} }

// FromString makes an IntOrString of a text.
func FromString(s string) IntOrString { return IntOrString{Type: Text, StrVal: s} }

// String returns the text, or the number in decimal.
func (x *IntOrString) String() string {
	if x == nil {
		return ""
	}
	if x.Type == Text {
		return x.StrVal
	}
	return unsafeString(appendInt(nil, int64(x.IntVal)))
}

// IntOrStringTable is the table of IntOrString.
var IntOrStringTable = Type{Size: unsafe.Sizeof(IntOrString{}), Form: choice, New: Grow[IntOrString], Fields: []Field{
	{Num: 1, Kind: Int32, Offset: unsafe.Offsetof(IntOrString{}.Type)},
	{Num: 2, Kind: Int32, Offset: unsafe.Offsetof(IntOrString{}.IntVal)},
	{Num: 3, Kind: String, Offset: unsafe.Offsetof(IntOrString{}.StrVal)},
}}

// RawExtension is any JSON value, kept as bytes.
type RawExtension struct{ Raw []byte }

// RawExtensionTable is the table of RawExtension, and of FieldsV1.
var RawExtensionTable = Type{Size: unsafe.Sizeof(RawExtension{}), Form: raw, New: Grow[RawExtension], Fields: []Field{
	{Num: 1, Kind: Bytes, Offset: unsafe.Offsetof(RawExtension{}.Raw)},
}}

// QuantityTable is the table of Quantity.
var QuantityTable = Type{Size: unsafe.Sizeof(Quantity{}), Form: quantity, New: Grow[Quantity], Fields: []Field{
	{Num: 1, Kind: String, Offset: unsafe.Offsetof(Quantity{}.Text)},
}}

func appendInt(b []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		b = append(b, '-')
		u = -u
	}
	return appendDecimal(b, u)
}

func appendDecimal(b []byte, u uint64) []byte {
	var d [20]byte
	i := len(d)
	for {
		i--
		d[i] = byte('0' + u%10)
		if u /= 10; u == 0 {
			return append(b, d[i:]...)
		}
	}
}
