package wire

import "unsafe"

// Equal reports whether two structs of t mean the same: empty and absent lists are alike, maps have no order,
// quantities count by value. A nil pointer differs from one to a zero value.
func Equal(a, b unsafe.Pointer, t *Type) bool {
	if t.Form == quantity {
		return (*Quantity)(a).Cmp(*(*Quantity)(b)) == 0
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if !equalField(unsafe.Add(a, f.Offset), unsafe.Add(b, f.Offset), f, t) {
			return false
		}
	}
	s := t.spare(a)
	return s == nil || *s == *t.spare(b)
}

func equalField(x, y unsafe.Pointer, f *Field, t *Type) bool {
	switch f.Kind & Map {
	case 0:
		return equalValue(x, y, f, t)
	case Ptr:
		x, y = *(*unsafe.Pointer)(x), *(*unsafe.Pointer)(y)
		if x == nil || y == nil {
			return x == y
		}
		return equalValue(x, y, f, t)
	}
	l, m := (*slice)(x), (*slice)(y)
	if l.len != m.len {
		return false
	}
	if f.Kind&Map == Map {
		return equalMap(l, m, f.elem(t))
	}
	size := f.elemSize(t)
	for i := range l.len {
		if !equalValue(unsafe.Add(l.ptr, uintptr(i)*size), unsafe.Add(m.ptr, uintptr(i)*size), f, t) {
			return false
		}
	}
	return true
}

func equalValue(x, y unsafe.Pointer, f *Field, t *Type) bool {
	switch f.Kind & base {
	case String:
		return *(*string)(x) == *(*string)(y)
	case Bytes:
		return unsafeString(*(*[]byte)(x)) == unsafeString(*(*[]byte)(y))
	case Message:
		return Equal(x, y, f.elem(t))
	case Bool:
		return *(*bool)(x) == *(*bool)(y)
	case Int32:
		return *(*int32)(x) == *(*int32)(y)
	case Double:
		return *(*float64)(x) == *(*float64)(y)
	}
	return *(*int64)(x) == *(*int64)(y)
}

func equalMap(l, m *slice, t *Type) bool {
	a, b := mapOrder(l, t), mapOrder(m, t)
	for i := range l.len {
		j, k := i, i
		if a != nil {
			j = int(a[i])
		}
		if b != nil {
			k = int(b[i])
		}
		if !Equal(l.at(j, t), m.at(k, t), t) {
			return false
		}
	}
	return true
}
