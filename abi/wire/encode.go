package wire

import (
	"math"
	"unsafe"
)

// Append appends the protobuf of t's struct at p: known fields by number, then the unknown ones as they came.
func Append(b []byte, p unsafe.Pointer, t *Type) []byte {
	if t.Form == instant || t.Form == instants {
		return (*Time)(p).appendWire(b, t.Form)
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Num == 0 {
			continue
		}

		q := unsafe.Add(p, f.Offset)
		n := f.Num
		switch f.Kind {
		case String:
			if s := *(*string)(q); s != "" {
				b = AppendString(b, n, s)
			}
		case Bytes:
			if s := *(*[]byte)(q); s != nil {
				b = AppendBytes(b, n, s)
			}
		case Message:
			was := len(b)
			if b = appendMessage(b, n, q, f.elem(t)); len(b) == was+SizeVarint(uint64(n)<<3)+1 {
				b = b[:was]
			}
		case Bool, Int32, Int64, Double:
			b = appendScalar(b, n, q, f.Kind, false)
		case Ptr | String:
			if s := *(**string)(q); s != nil {
				b = AppendString(b, n, *s)
			}
		case Ptr | Message:
			if m := *(*unsafe.Pointer)(q); m != nil {
				b = appendMessage(b, n, m, f.elem(t))
			}
		case Ptr | Bool, Ptr | Int32, Ptr | Int64, Ptr | Double:
			if m := *(*unsafe.Pointer)(q); m != nil {
				b = appendScalar(b, n, m, f.Kind&base, true)
			}
		case Rep | Message:
			h, et := (*slice)(q), f.elem(t)
			for i := range h.len {
				b = appendMessage(b, n, h.at(i, et), et)
			}
		case Map | Message:
			h, et := (*slice)(q), f.elem(t)
			order := mapOrder(h, et)
			for i := range h.len {
				if order != nil {
					i = int(order[i])
				}
				b = appendMessage(b, n, h.at(i, et), et)
			}
		case Rep | String:
			for _, s := range *(*[]string)(q) {
				b = AppendString(b, n, s)
			}
		case Rep | Bytes:
			for _, s := range *(*[][]byte)(q) {
				b = AppendBytes(b, n, s)
			}
		default:
			h := (*slice)(q)
			size := f.Kind.sizeInMemory()
			for i := range h.len {
				b = appendScalar(b, n, unsafe.Add(h.ptr, uintptr(i)*size), f.Kind&base, true)
			}
		}
	}

	if s := t.spare(p); s != nil && *s != "" && (*s)[0] != 0 {
		b = append(b, *s...)
	}
	return b
}

func appendMessage(b []byte, n uint32, p unsafe.Pointer, t *Type) []byte {
	b, start := Begin(b, n)
	return End(Append(b, p, t), start)
}

// appendScalar appends a field of a number; its zero only where it has to be there.
func appendScalar(b []byte, n uint32, p unsafe.Pointer, k Kind, zero bool) []byte {
	var v uint64
	switch k {
	case Bool:
		if *(*bool)(p) {
			v = 1
		}
	case Int32:
		v = uint64(*(*int32)(p))
	case Int64:
		v = uint64(*(*int64)(p))
	case Double:
		if x := *(*float64)(p); zero || math.Float64bits(x) != 0 {
			b = appendDouble(AppendTag(b, n, WireFixed64), x)
		}
		return b
	}
	if v == 0 && !zero {
		return b
	}
	return AppendUint(b, n, v)
}

// sizeInMemory returns the size of a scalar in memory.
func (k Kind) sizeInMemory() uintptr {
	switch k & base {
	case Bool:
		return 1
	case Int32:
		return 4
	}
	return 8
}
