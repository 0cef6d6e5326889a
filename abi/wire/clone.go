package wire

import "unsafe"

// Clone makes the struct at dst a deep copy of the one at src. Only strings are shared.
func Clone(dst, src unsafe.Pointer, t *Type) { cloneInto(dst, src, t, false) }

// Copy makes the struct at dst one like that at src; what pointers, lists and maps lead to is shared. In a module it
// takes less code than an assignment.
func Copy(dst, src unsafe.Pointer, t *Type) { cloneInto(dst, src, t, true) }

// Reset makes the struct at p its zero value.
func Reset(p unsafe.Pointer, t *Type) { cloneInto(p, t.New(nil, 0, 1), t, true) }

// cloneInto copies field by field, because a copy of raw memory would hide pointers from Go's garbage collector.
func cloneInto(dst, src unsafe.Pointer, t *Type, shallow bool) {
	for i := range t.Fields {
		f := &t.Fields[i]
		d, s := unsafe.Add(dst, f.Offset), unsafe.Add(src, f.Offset)
		switch f.Kind {
		case String:
			*(*string)(d) = *(*string)(s)
		case Message:
			cloneInto(d, s, f.elem(t), shallow)
		case Bool:
			*(*bool)(d) = *(*bool)(s)
		case Int32:
			*(*int32)(d) = *(*int32)(s)
		case Int64, Double:
			*(*int64)(d) = *(*int64)(s)
		default:
			if f.Kind&many == 0 && f.Kind != Bytes {
				*(*unsafe.Pointer)(d) = clonePointer(*(*unsafe.Pointer)(s), f, t, shallow)
				continue
			}
			from := *(*slice)(s)
			if !shallow && from.ptr != nil {
				from = cloneSlice(from, f, t)
			}
			*(*slice)(d) = from
		}
	}

	if u := t.spare(dst); u != nil {
		*u = *t.spare(src)
	}
}

func clonePointer(p unsafe.Pointer, f *Field, t *Type, shallow bool) unsafe.Pointer {
	if p == nil || shallow {
		return p
	}
	switch f.Kind & base {
	case String:
		x := *(*string)(p)
		return unsafe.Pointer(&x)
	case Bool:
		x := *(*bool)(p)
		return unsafe.Pointer(&x)
	case Int32:
		x := *(*int32)(p)
		return unsafe.Pointer(&x)
	case Message:
		et := f.elem(t)
		m := et.New(nil, 0, 1)
		cloneInto(m, p, et, false)
		return m
	}
	x := *(*int64)(p)
	return unsafe.Pointer(&x)
}

func cloneSlice(s slice, f *Field, t *Type) slice {
	switch f.Kind {
	case Rep | Message, Map | Message:
		et := f.elem(t)
		n := slice{et.New(nil, 0, s.len), s.len, s.len}
		for i := range s.len {
			cloneInto(n.at(i, et), s.at(i, et), et, false)
		}
		return n
	case Rep | String:
		return slice{Grow[string](s.ptr, s.len, s.len), s.len, s.len}
	case Rep | Bytes:
		n := slice{Grow[[]byte](s.ptr, s.len, s.len), s.len, s.len}
		for i, b := range unsafe.Slice((*[]byte)(n.ptr), n.len) {
			unsafe.Slice((*[]byte)(n.ptr), n.len)[i] = append([]byte{}, b...)
		}
		return n
	case Bytes, Rep | Bool:
		return slice{Grow[byte](s.ptr, s.len, s.len), s.len, s.len}
	case Rep | Int32:
		return slice{Grow[int32](s.ptr, s.len, s.len), s.len, s.len}
	}
	return slice{Grow[int64](s.ptr, s.len, s.len), s.len, s.len}
}
