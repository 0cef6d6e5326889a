package wire

import "unsafe"

// Walk visits the struct at p, then every struct below it, in the order of their fields. What visit adds to a struct is
// visited too.
func Walk(p unsafe.Pointer, t *Type, visit func(p unsafe.Pointer, t *Type)) {
	visit(p, t)
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Kind&base != Message {
			continue
		}
		q, et := unsafe.Add(p, f.Offset), f.elem(t)
		switch {
		case f.Kind&many != 0:
			l := (*slice)(q)
			for j := range l.len {
				Walk(l.at(j, et), et, visit)
			}
		case f.Kind&Ptr == 0:
			Walk(q, et, visit)
		case *(*unsafe.Pointer)(q) != nil:
			Walk(*(*unsafe.Pointer)(q), et, visit)
		}
	}
}
