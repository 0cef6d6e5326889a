package wire

import (
	"math"
	"unsafe"
)

// Unmarshal decodes the protobuf message b into the zero value of t's struct at p. Strings and bytes alias b.
func Unmarshal(b []byte, p unsafe.Pointer, t *Type) error {
	d := decoder{budget: min(len(b), ExpansionMax/Expansion)*Expansion + ExpansionBase}
	if e := d.message(unsafe.Pointer(unsafe.SliceData(b)), len(b), p, t, MaxDepth); e != 0 {
		return e
	}
	return nil
}

// decoder counts the memory that decoding may still take: a two-byte element of a list can stand for a struct of a
// kilobyte.
type decoder struct{ budget int }

// message decodes the n bytes at b into the struct of t at p.
//
// Most of a sync's time in the sandbox is spent here, where each call, each access to memory and each value that
// doesn't fit the registers costs more than natively. Hence pointers in place of slices, checked once against n, and
// numbers that are read in place.
func (d *decoder) message(b unsafe.Pointer, n int, p unsafe.Pointer, t *Type, depth int) Error {
	if depth == 0 {
		return ErrDepth
	}
	if t.Form == instant && readTime(b, n, (*Time)(p)) {
		return 0
	}

	fields, last := unsafe.Pointer(unsafe.SliceData(t.Fields)), len(t.Fields)-1
	first := 0
	if last < 0 || (*Field)(fields).Num == 0 {
		if first = t.firstNumber(); first > last {
			fields, first, last = unsafe.Pointer(&noField), 0, 0
		}
	}

	k := first
	spareEnd := 0 // where the unknown fields so far end, while they are one piece
	unsorted := false
	for i := 0; i < n; {
		start := i
		key := uint32(*(*byte)(unsafe.Add(b, i)))
		i++
		if key >= 0x80 {
			long, next := ConsumeVarint(unsafe.Slice((*byte)(b), n), start)
			if next < 0 {
				return Error(-next)
			}
			if long>>3 > MaxNum {
				return ErrTag
			}
			key, i = uint32(long), next
		}

		num := key >> 3
		if num == 0 {
			return ErrTag
		}

		var v uint64
		data, size := b, 0
		if key&5 == 0 { // a varint, or the length of bytes
			if i >= n {
				return ErrTruncated
			}
			c := *(*byte)(unsafe.Add(b, i))
			i++
			v = uint64(c)
			if c >= 0x80 {
				v &= 0x7f
				for s := uint(7); ; s += 7 {
					if i >= n {
						return ErrTruncated
					}
					c = *(*byte)(unsafe.Add(b, i))
					i++
					if s == 63 && c > 1 {
						return ErrVarint
					}
					v |= uint64(c&0x7f) << s
					if c < 0x80 {
						break
					}
				}
			}
			if key&7 == uint32(WireBytes) {
				if v > uint64(n-i) {
					return ErrTruncated
				}
				if size = int(v); size > 0 { // a pointer must not lie behind the message's end
					data = unsafe.Add(b, i)
				}
				i += size
			}
		} else {
			w := 8
			switch WireType(key & 7) {
			case WireFixed64:
			case WireFixed32:
				w = 4
			default:
				return ErrWireType
			}
			if w > n-i {
				return ErrTruncated
			}
			v, i = readFixed(unsafe.Slice((*byte)(b), n), i, w), i+w
		}

		// Numbers ascend, so that this one lies at most as far from the last field as its number from that one's; and in most
		// tables it does lie there.
		f := (*Field)(unsafe.Add(fields, uintptr(k)*unsafe.Sizeof(Field{})))
		if f.Num < num {
			if by := num - f.Num; by < uint32(last-k) {
				k += int(by)
			} else {
				k = last
			}
			f = (*Field)(unsafe.Add(fields, uintptr(k)*unsafe.Sizeof(Field{})))
		}

		if f.Num > num { // a loop is paid for even where it is not entered
			for k > first {
				k--
				f = (*Field)(unsafe.Add(fields, uintptr(k)*unsafe.Sizeof(Field{})))
				if f.Num <= num {
					break
				}
			}
		}

		if f.Num != num {
			if s := t.spare(p); s != nil {
				if spareEnd = d.unknown(s, unsafe.Slice((*byte)(b), i), start, spareEnd); spareEnd < 0 {
					return ErrSize
				}
			}
			continue
		}

		q := unsafe.Add(p, f.Offset)
		if f.Kind.wireType() != WireType(key&7) {
			if f.Kind&^base != Rep || f.Kind.wireType() == WireBytes || key&7 != uint32(WireBytes) {
				return ErrWireType
			}
			if e := d.readPacked(unsafe.Slice((*byte)(data), size), q, f.Kind); e != 0 {
				return e
			}
			continue
		}

		switch f.Kind {
		case String:
			*(*str)(q) = str{data, size}
		case Bytes:
			*(*slice)(q) = slice{data, size, size}
		case Message:
			if e := d.message(data, size, q, f.elem(t), depth-1); e != 0 {
				return e
			}
		case Bool:
			*(*bool)(q) = v != 0
		case Int32:
			*(*int32)(q) = int32(v)
		case Int64, Double:
			*(*uint64)(q) = v
		case Ptr | String:
			s := unsafe.String((*byte)(data), size)
			*(**string)(q) = &s
		case Ptr | Message:
			m, et := *(*unsafe.Pointer)(q), f.elem(t)
			if m == nil {
				if d.budget -= int(et.Size); d.budget < 0 {
					return ErrSize
				}
				m = et.New(nil, 0, 1)
				*(*unsafe.Pointer)(q) = m
			}
			if e := d.message(data, size, m, et, depth-1); e != 0 {
				return e
			}
		case Ptr | Bool:
			x := v != 0
			*(**bool)(q) = &x
		case Ptr | Int32:
			x := int32(v)
			*(**int32)(q) = &x
		case Ptr | Int64, Ptr | Double:
			x := v
			*(**uint64)(q) = &x
		case Rep | Message, Map | Message, Rep | String, Rep | Bytes:
			h, et := (*slice)(q), &textType
			switch f.Kind & base {
			case Bytes:
				et = &bytesType
			case Message:
				et = f.elem(t)
			}
			at := h.len
			if at == h.cap {
				more := 1
				if i < n && (key >= 0x80 || uint32(*(*byte)(unsafe.Add(b, i))) == key) {
					more += countMore(unsafe.Slice((*byte)(b), n), i, uint64(key))
				}
				if e := d.growList(h, et, more); e != 0 {
					return e
				}
			}
			e := unsafe.Add(h.ptr, uintptr(at)*et.Size)
			switch f.Kind & base {
			case String:
				*(*str)(e) = str{data, size}
			case Bytes:
				*(*slice)(e) = slice{data, size, size}
			default:
				if et == &StringEntry && readEntry(data, size, (*KV)(e)) {
				} else if err := d.message(data, size, e, et, depth-1); err != 0 {
					return err
				}
				if f.Kind == Map|Message && at > 0 && *(*string)(h.at(at-1, et)) >= *(*string)(e) {
					unsorted = true
				}
			}
			h.len = at + 1
		default:
			appendNumber(q, f.Kind, v)
		}
	}

	if unsorted {
		sortMaps(p, t)
	}
	if n > 0 && (t.Form == instant || t.Form == instants) {
		(*Time)(p).fromWire(t.Form)
	}
	return 0
}

// readTime reads a Time as everyone writes it, and reports whether this is one.
func readTime(b unsafe.Pointer, n int, t *Time) bool {
	if n < 2 || *(*byte)(b) != 1<<3|byte(WireVarint) {
		return false
	}
	v, i := uint64(0), 1
	for s := uint(0); ; s += 7 {
		if i == n || s == 63 {
			return false
		}
		c := *(*byte)(unsafe.Add(b, i))
		i++
		v |= uint64(c&0x7f) << s
		if c < 0x80 {
			break
		}
	}
	if i < n && (i+2 != n || *(*byte)(unsafe.Add(b, i)) != 2<<3|byte(WireVarint) || *(*byte)(unsafe.Add(b, i+1)) >= 0x80) {
		return false
	}
	*t = Time{seconds: int64(v) + epoch}
	return true
}

// readEntry reads an entry of a StringMap with a short key and a short value, as everyone writes it, and tells whether
// this is one.
func readEntry(b unsafe.Pointer, n int, e *KV) bool {
	if n < 4 || *(*byte)(b) != 1<<3|byte(WireBytes) {
		return false
	}
	k := int(*(*byte)(unsafe.Add(b, 1)))
	if k >= 0x80 || k > n-4 || *(*byte)(unsafe.Add(b, 2+k)) != 2<<3|byte(WireBytes) {
		return false
	}
	v := int(*(*byte)(unsafe.Add(b, 3+k)))
	if v >= 0x80 || v != n-4-k {
		return false
	}
	e.Key = unsafe.String((*byte)(unsafe.Add(b, 2)), k)
	if v > 0 {
		e.Value = unsafe.String((*byte)(unsafe.Add(b, n-v)), v)
	}
	return true
}

// firstNumber is where the fields begin that travel by number.
func (t *Type) firstNumber() (i int) {
	for i < len(t.Fields) && t.Fields[i].Num == 0 {
		i++
	}
	return i
}

var (
	noField   = Field{Num: MaxNum + 1}
	textType  = Type{Size: unsafe.Sizeof(""), New: Grow[string]}
	bytesType = Type{Size: unsafe.Sizeof([]byte{}), New: Grow[[]byte]}
)

// unknown keeps the field at the end of b. It takes where the unknown fields so far end, while they are one piece, and
// gives where they end now; negative where it takes too much memory.
func (d *decoder) unknown(s *Unknown, b []byte, start, spareEnd int) int {
	switch {
	case *s == "":
		*s = Unknown(unsafeString(b[start:]))
	case spareEnd == start:
		*s = Unknown(unsafe.String(unsafe.StringData(string(*s)), len(*s)+len(b)-start))
	default:
		if d.budget -= len(*s) + len(b) - start; d.budget < 0 {
			return -1
		}
		*s += Unknown(unsafeString(b[start:]))
		return 0
	}
	return len(b)
}

// wireType returns the wire type that values of the kind have, out of a table in a number.
func (k Kind) wireType() WireType { return WireType(uint32(wireTypes) >> (k & 7 * 4) & 7) }

const wireTypes = uint32(WireBytes)<<(String*4) | uint32(WireBytes)<<(Bytes*4) | uint32(WireBytes)<<(Message*4) |
	uint32(WireFixed64)<<(Double*4)

// appendNumber appends a value to a list of numbers.
func appendNumber(q unsafe.Pointer, k Kind, v uint64) {
	switch k & base {
	case Bool:
		*(*[]bool)(q) = append(*(*[]bool)(q), v != 0)
	case Int32:
		*(*[]int32)(q) = append(*(*[]int32)(q), int32(v))
	case Int64:
		*(*[]int64)(q) = append(*(*[]int64)(q), int64(v))
	case Double:
		*(*[]float64)(q) = append(*(*[]float64)(q), math.Float64frombits(v))
	}
}

// readPacked reads a list of numbers that came as one field.
func (d *decoder) readPacked(b []byte, q unsafe.Pointer, k Kind) Error {
	for i := 0; i < len(b); {
		var v uint64
		if k.wireType() == WireFixed64 {
			if len(b)-i < 8 {
				return ErrTruncated
			}
			v, i = readFixed(b, i, 8), i+8
		} else if v, i = ConsumeVarint(b, i); i < 0 {
			return Error(-i)
		}
		appendNumber(q, k, v)
	}
	return 0
}

// growList makes room in a list for more elements.
func (d *decoder) growList(h *slice, t *Type, more int) Error {
	size := h.len + more
	if size < 2*h.cap {
		size = 2 * h.cap
	}
	if t.Size > 0 && size > d.budget/int(t.Size) {
		return ErrSize
	}
	d.budget -= size * int(t.Size)
	h.ptr, h.cap = t.New(h.ptr, h.len, size), size
	return 0
}

// countMore counts the fields with the same key, of wire type bytes, that follow directly at i.
func countMore(b []byte, i int, key uint64) (n int) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	for i+1 < len(b) {
		k, l := uint64(*(*byte)(unsafe.Add(p, i))), uint64(*(*byte)(unsafe.Add(p, i+1)))
		if k|l < 0x80 { // nearly always
			i += 2
		} else {
			if k, i = ConsumeVarint(b, i); i < 0 {
				return n
			}
			if l, i = ConsumeVarint(b, i); i < 0 {
				return n
			}
		}
		if k != key || l > uint64(len(b)-i) {
			return n
		}
		i += int(l)
		n++
	}
	return n
}
