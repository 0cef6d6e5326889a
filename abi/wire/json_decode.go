package wire

import "unsafe"

// UnmarshalJSON decodes the JSON object b into the zero value of t's struct at p. Strings alias b where nothing in them
// is escaped. Names count by case; members without a field are kept in the struct's Unknown.
func UnmarshalJSON(b []byte, p unsafe.Pointer, t *Type) error {
	if _, e := unmarshalJSON(b, p, t); e != 0 {
		return e
	}
	return nil
}

// unmarshalJSON also tells how far it came.
func unmarshalJSON(b []byte, p unsafe.Pointer, t *Type) (int, Error) {
	r := reader{b: b, decoder: decoder{budget: len(b)*Expansion + ExpansionBase}}
	e := r.readValue(p, t, MaxDepth)
	if r.skipSpace(); e == 0 && r.i < len(b) {
		e = ErrJSON
	}
	return r.i, e
}

// readValue reads what a type's form asks for; null leaves it as it is.
func (r *reader) readValue(p unsafe.Pointer, t *Type, depth int) Error {
	if depth == 0 {
		return ErrDepth
	}
	c := r.skipSpace()
	if t.Form == Bare {
		return r.readField(p, &t.Fields[0], t, depth)
	}
	if t.Form == raw {
		start := r.i
		e := r.skipValue(maxSkip)
		*(*[]byte)(p) = r.b[start:r.i:r.i]
		return e
	}
	if c == 'n' {
		return r.readWord("null")
	}

	switch t.Form {
	case instant, instants:
		s, e := r.readString()
		if e != 0 {
			return e
		}
		m, ok := parseTime(s)
		if !ok {
			return ErrTime
		}
		m.roundTo(t.Form)
		*(*Time)(p) = m
		return 0
	case quantity:
		s, e := r.textOrNumber(c)
		if _, ok := parseQuantity(s); e == 0 && !ok {
			return ErrNumber
		}
		*(*string)(p) = s
		return e
	case choice:
		x := (*IntOrString)(p)
		if c == '"' {
			s, e := r.readString()
			*x = FromString(s)
			return e
		}
		n, e := r.readInteger(32)
		*x = FromInt(int32(n))
		return e
	}

	return r.readObject(p, t, depth)
}

func (r *reader) readObject(p unsafe.Pointer, t *Type, depth int) Error {
	var rest []byte
	unsorted := false
	e := r.readMembers(func(name string, start int) Error {
		f, q, in := findMember(p, t, name)
		if f == nil {
			e := r.skipValue(maxSkip)
			if e == 0 && t.Spare != 0 {
				if rest == nil {
					rest = append(rest, 0)
				} else {
					rest = append(rest, ',')
				}
				rest = append(rest, r.b[start:r.i]...)
			}
			return e
		}
		e := r.readField(q, f, in, depth)
		unsorted = unsorted || f.Kind == Map|Message
		return e
	})
	if e != 0 {
		return e
	}

	if unsorted {
		sortMaps(p, t)
	}
	if rest != nil {
		*t.spare(p) = Unknown(unsafeString(rest))
	}
	return 0
}

// findMember finds the field of a name, also among the members of inlined structs: its place, and the type it is in.
func findMember(p unsafe.Pointer, t *Type, name string) (*Field, unsafe.Pointer, *Type) {
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.JSON == name && name != "" {
			return f, unsafe.Add(p, f.Offset), t
		}
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.JSON == "" && f.Kind == Message {
			if g, q, in := findMember(unsafe.Add(p, f.Offset), f.elem(t), name); g != nil {
				return g, q, in
			}
		}
	}
	return nil, nil, nil
}

func (r *reader) readField(q unsafe.Pointer, f *Field, t *Type, depth int) Error {
	null := r.skipSpace() == 'n'
	switch f.Kind & Map {
	case 0:
		return r.readScalar(q, f, t, depth)
	case Ptr:
		if null {
			*(*unsafe.Pointer)(q) = nil
			return r.readWord("null")
		}
		return r.readPointer(q, f, t, depth)
	}

	h := (*slice)(q)
	*h = slice{}
	if null {
		return r.readWord("null")
	}
	if f.Kind == Map|Message {
		return r.readMap(h, f.elem(t), depth)
	}
	if r.skipSpace() != '[' {
		return ErrJSON
	}

	r.i++
	if r.skipSpace() == ']' {
		r.i++
		*h = emptySlice()
		return 0
	}

	for {
		if e := r.readElement(q, f, t, depth); e != 0 {
			return e
		}
		switch r.skipSpace() {
		case ',':
			r.i++
		case ']':
			r.i++
			return 0
		default:
			return ErrJSON
		}
	}
}

func emptySlice() slice { return slice{ptr: unsafe.Pointer(&nothing)} }

// nothing is what empty lists point to, so that they aren't nil.
var nothing struct{}

// readElement reads one element of a list and appends it.
func (r *reader) readElement(q unsafe.Pointer, f *Field, t *Type, depth int) Error {
	h := (*slice)(q)
	var v int64
	switch f.Kind & base {
	case Message:
		et := f.elem(t)
		if h.len == h.cap {
			if e := r.growList(h, et, 1); e != 0 {
				return e
			}
		}
		h.len++
		return r.readValue(h.at(h.len-1, et), et, depth-1)
	case String:
		var s string
		e := r.readScalar(unsafe.Pointer(&s), f, t, depth)
		*(*[]string)(q) = append(*(*[]string)(q), s)
		return e
	case Bytes:
		var s []byte
		e := r.readScalar(unsafe.Pointer(&s), f, t, depth)
		*(*[][]byte)(q) = append(*(*[][]byte)(q), s)
		return e
	}

	e := r.readScalar(unsafe.Pointer(&v), f, t, depth)
	switch p := unsafe.Pointer(&v); f.Kind & base {
	case Bool:
		*(*[]bool)(q) = append(*(*[]bool)(q), *(*bool)(p))
	case Int32:
		*(*[]int32)(q) = append(*(*[]int32)(q), *(*int32)(p))
	case Double:
		*(*[]float64)(q) = append(*(*[]float64)(q), *(*float64)(p))
	default:
		*(*[]int64)(q) = append(*(*[]int64)(q), v)
	}

	return e
}

func (r *reader) readPointer(q unsafe.Pointer, f *Field, t *Type, depth int) Error {
	var m unsafe.Pointer
	switch f.Kind & base {
	case String:
		m = unsafe.Pointer(new(string))
	case Bool:
		m = unsafe.Pointer(new(bool))
	case Int32:
		m = unsafe.Pointer(new(int32))
	case Int64, Double:
		m = unsafe.Pointer(new(int64))
	default:
		et := f.elem(t)
		if r.budget -= int(et.Size); r.budget < 0 {
			return ErrSize
		}
		m = et.New(nil, 0, 1)
	}
	*(*unsafe.Pointer)(q) = m
	return r.readScalar(m, f, t, depth)
}

func (r *reader) readMap(h *slice, t *Type, depth int) Error {
	e := r.readMembers(func(name string, _ int) Error {
		if h.len == h.cap {
			if e := r.growList(h, t, 1); e != 0 {
				return e
			}
		}
		q := h.at(h.len, t)
		h.len++
		*(*string)(q) = name
		v := &t.Fields[1]
		return r.readField(unsafe.Add(q, v.Offset), v, t, depth-1)
	})
	if e == 0 && h.ptr == nil {
		*h = emptySlice()
	}
	return e
}

// readScalar reads a single value; null leaves it as it is.
func (r *reader) readScalar(q unsafe.Pointer, f *Field, t *Type, depth int) Error {
	if f.Kind&base == Message {
		return r.readValue(q, f.elem(t), depth-1)
	}
	c := r.skipSpace()
	if c == 'n' {
		return r.readWord("null")
	}

	switch f.Kind & base {
	case String:
		s, e := r.readString()
		*(*string)(q) = s
		return e
	case Bytes:
		s, e := r.readString()
		if e != 0 {
			return e
		}
		b, ok := parseBase64(s)
		if !ok {
			return ErrJSON
		}
		*(*[]byte)(q) = b
		return 0
	case Bool:
		if c == 't' {
			*(*bool)(q) = true
			return r.readWord("true")
		}
		*(*bool)(q) = false
		return r.readWord("false")
	case Int32:
		n, e := r.readInteger(32)
		*(*int32)(q) = int32(n)
		return e
	case Double:
		x, e := r.readFloat()
		*(*float64)(q) = x
		return e
	}

	n, e := r.readInteger(64)
	*(*int64)(q) = n
	return e
}

func parseBase64(s string) ([]byte, bool) {
	if len(s)%4 != 0 {
		return nil, false
	}
	n := len(s)
	for n > 0 && len(s)-n < 2 && s[n-1] == '=' {
		n--
	}
	b := make([]byte, 0, len(s)/4*3)

	var v uint32
	for i := range n {
		d := uint32(0)
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			d = uint32(c - 'A')
		case c >= 'a' && c <= 'z':
			d = uint32(c-'a') + 26
		case c >= '0' && c <= '9':
			d = uint32(c-'0') + 52
		case c == '+':
			d = 62
		case c == '/':
			d = 63
		default:
			return nil, false
		}

		v = v<<6 | d
		switch i % 4 {
		case 1:
			b = append(b, byte(v>>4))
		case 2:
			b = append(b, byte(v>>2))
		case 3:
			b = append(b, byte(v))
		}
	}

	return b, true
}
