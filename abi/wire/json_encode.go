package wire

import (
	"math"
	"unsafe"
)

// AppendJSON appends the JSON of t's struct at p. Members that a decoder had no field for come last, as they came.
func AppendJSON(b []byte, p unsafe.Pointer, t *Type) []byte {
	switch t.Form {
	case Bare:
		return appendJSONField(b, p, &t.Fields[0], t)
	case instant, instants:
		m := (*Time)(p)
		if m.IsZero() {
			return append(b, "null"...)
		}
		return append(m.append(append(b, '"'), t.Form == instants), '"')
	case quantity:
		return AppendQuoted(b, (*Quantity)(p).String())
	case choice:
		if x := (*IntOrString)(p); x.Type == Int {
			return appendInt(b, int64(x.IntVal))
		} else {
			return AppendQuoted(b, x.StrVal)
		}
	case raw:
		if x := (*RawExtension)(p); len(x.Raw) > 0 {
			return append(b, x.Raw...)
		}
		return append(b, "null"...)
	}

	b = append(b, '{')
	start := len(b)
	b = appendMembers(b, p, t)
	if len(b) > start {
		b = b[:len(b)-1] // the comma behind the last member
	}
	return append(b, '}')
}

// appendMembers appends the members of a struct, each with a comma behind it.
func appendMembers(b []byte, p unsafe.Pointer, t *Type) []byte {
	for i := range t.Fields {
		f := &t.Fields[i]
		q := unsafe.Add(p, f.Offset)
		if f.JSON == "" {
			if f.Kind == Message {
				b = appendMembers(b, q, f.elem(t))
			}
			continue
		}
		if !f.Keep && isAbsent(q, f, t) {
			continue
		}
		was := len(b)
		b = append(AppendQuoted(b, f.JSON), ':')
		start := len(b)
		b = appendJSONField(b, q, f, t)
		if !f.Keep && f.Kind == Message && len(b) == start+2 && b[start] == '{' && f.elem(t).Form != raw {
			b = b[:was]
			continue
		}
		b = append(b, ',')
	}

	if s := t.spare(p); s != nil && len(*s) > 1 && (*s)[0] == 0 {
		b = append(append(b, (*s)[1:]...), ',')
	}
	return b
}

// isAbsent reports whether a field's value is one that JSON leaves out.
func isAbsent(q unsafe.Pointer, f *Field, t *Type) bool {
	switch f.Kind {
	case String:
		return *(*string)(q) == ""
	case Bool:
		return !*(*bool)(q)
	case Int32:
		return *(*int32)(q) == 0
	case Int64:
		return *(*int64)(q) == 0
	case Double:
		return *(*float64)(q) == 0
	case Message:
		switch f.elem(t).Form {
		case instant, instants:
			return (*Time)(q).IsZero()
		case quantity:
			return *(*string)(q) == ""
		case raw:
			return len(*(*[]byte)(q)) == 0
		case Bare:
			return isAbsent(q, &f.elem(t).Fields[0], f.elem(t))
		}
		return false
	}

	if f.Kind&many == 0 && f.Kind != Bytes {
		return *(*unsafe.Pointer)(q) == nil
	}
	return (*slice)(q).len == 0
}

func appendJSONField(b []byte, q unsafe.Pointer, f *Field, t *Type) []byte {
	switch f.Kind & Map {
	case 0:
		return appendJSONValue(b, q, f, t)
	case Ptr:
		if q = *(*unsafe.Pointer)(q); q == nil {
			return append(b, "null"...)
		}
		return appendJSONValue(b, q, f, t)
	}
	h := (*slice)(q)
	if h.ptr == nil {
		return append(b, "null"...)
	}
	if f.Kind == Map|Message {
		return appendJSONMap(b, h, f.elem(t))
	}
	size := f.elemSize(t)
	b = append(b, '[')
	for i := range h.len {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONValue(b, unsafe.Add(h.ptr, uintptr(i)*size), f, t)
	}
	return append(b, ']')
}

func appendJSONMap(b []byte, h *slice, t *Type) []byte {
	order := mapOrder(h, t)
	b = append(b, '{')
	for i := range h.len {
		k := i
		if order != nil {
			k = int(order[i])
		}
		if i > 0 {
			b = append(b, ',')
		}
		q := h.at(k, t)
		b = append(AppendQuoted(b, *(*string)(q)), ':')
		v := &t.Fields[1]
		b = appendJSONField(b, unsafe.Add(q, v.Offset), v, t)
	}
	return append(b, '}')
}

func appendJSONValue(b []byte, q unsafe.Pointer, f *Field, t *Type) []byte {
	switch f.Kind & base {
	case String:
		return AppendQuoted(b, *(*string)(q))
	case Bytes:
		s := *(*[]byte)(q)
		if s == nil {
			return append(b, "null"...)
		}
		return append(appendBase64(append(b, '"'), s), '"')
	case Message:
		return AppendJSON(b, q, f.elem(t))
	case Bool:
		if *(*bool)(q) {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case Int32:
		return appendInt(b, int64(*(*int32)(q)))
	case Double:
		return appendFloat(b, *(*float64)(q))
	}
	return appendInt(b, *(*int64)(q))
}

// elemSize is the size of an element of a list field.
func (f *Field) elemSize(t *Type) uintptr {
	switch f.Kind & base {
	case Message:
		return f.elem(t).Size
	case String:
		return unsafe.Sizeof("")
	case Bytes:
		return unsafe.Sizeof(slice{})
	}
	return f.Kind.sizeInMemory()
}

// AppendQuoted appends s as a JSON string.
func AppendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func appendBase64(b, s []byte) []byte {
	for len(s) >= 3 {
		v := uint(s[0])<<16 | uint(s[1])<<8 | uint(s[2])
		b = append(b, base64[v>>18], base64[v>>12&63], base64[v>>6&63], base64[v&63])
		s = s[3:]
	}
	switch len(s) {
	case 1:
		v := uint(s[0]) << 16
		b = append(b, base64[v>>18], base64[v>>12&63], '=', '=')
	case 2:
		v := uint(s[0])<<16 | uint(s[1])<<8
		b = append(b, base64[v>>18], base64[v>>12&63], base64[v>>6&63], '=')
	}
	return b
}

// appendFloat writes numbers of up to 15 digits exactly, others rounded to 15: what is exact needs tables of 11 KB, and
// no API field is a float.
func appendFloat(b []byte, x float64) []byte {
	if x != x || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	if math.Signbit(x) {
		b = append(b, '-')
		x = -x
	}
	if x == 0 {
		return append(b, '0')
	}
	for k, p := 0, 1.0; k <= 22 && x*p < 1e16; k, p = k+1, p*10 {
		if n := math.Floor(x*p + 0.5); n < 1<<53 && n/p == x {
			return appendPoint(b, uint64(n), k)
		}
	}
	e := 0
	for ; x >= 1e15; x /= 10 {
		e++
	}
	for ; x < 1e14; x *= 10 {
		e--
	}
	b = append(appendDecimal(b, uint64(x+0.5)), 'e')
	return appendInt(b, int64(e))
}

// appendPoint writes n with its last k digits behind the point.
func appendPoint(b []byte, n uint64, k int) []byte {
	d := appendDecimal(nil, n)
	for len(d) <= k {
		d = append([]byte{'0'}, d...)
	}
	b = append(b, d[:len(d)-k]...)
	if k > 0 {
		b = append(append(b, '.'), d[len(d)-k:]...)
	}
	return b
}
