package rewrite

// constant reads a constant expression; with out it appends it there, its functions renumbered.
func constant(r *reader, out []byte, renumber func(uint32) uint32) []byte {
	for r.err == nil {
		from := r.pos
		switch op := r.byte(); op {
		case 0x0b:
			return append(out, op)
		case 0xd2: // ref.func
			if f := r.u32(); renumber != nil {
				out = appendU(append(out, op), renumber(f))
			}
			continue
		case 0x41:
			r.signedLEB(32)
		case 0x42:
			r.signedLEB(64)
		case 0x43:
			r.bytes(4)
		case 0x44:
			r.bytes(8)
		case 0x23:
			r.u32()
		case 0xd0:
			referenceType(r)
		default:
			r.failf("instruction %#x is not allowed in a constant expression", op)
		}

		if r.err == nil && renumber != nil {
			out = append(out, r.b[from:r.pos]...)
		}
	}

	return out
}

func referenceType(r *reader) {
	if t := r.byte(); t != 0x70 && t != 0x6f {
		r.failf("reference type %#x is not allowed here", t)
	}
}

// element reads an element segment and returns how many entries it has; with renumber it appends it to out, its
// functions renumbered.
func element(r *reader, out []byte, renumber func(uint32) uint32) (_ []byte, entries uint32) {
	keep := func(from int) {
		if renumber != nil && r.err == nil {
			out = append(out, r.b[from:r.pos]...)
		}
	}

	from := r.pos
	flag := r.u32()
	if flag > 7 {
		r.failf("element segment of kind %d is unknown", flag)
	}
	active, indexed, expressions := flag&1 == 0, flag&2 != 0, flag&4 != 0
	if active && indexed {
		if t := r.u32(); t != 0 {
			r.failf("element segment for table %d, there is one table at most", t)
		}
	}

	keep(from)
	if active {
		out = constant(r, out, renumber)
	}
	from = r.pos

	if !active || indexed {
		if expressions {
			referenceType(r)
		} else if kind := r.byte(); kind != 0 {
			r.failf("element kind %#x is unknown", kind)
		}
	}

	entries = r.count(1)
	keep(from)
	for n := entries; n > 0 && r.err == nil; n-- {
		if expressions {
			out = constant(r, out, renumber)
		} else if f := r.u32(); renumber != nil {
			out = appendU(out, renumber(f))
		}
	}

	return out, entries
}

// dataSegment reads a data segment. Its place is checked here: in the rewritten module the memory is larger than the
// module declares.
func (m *Module) dataSegment(r *reader) {
	flag := r.u32()
	if flag > 2 {
		r.failf("data segment of kind %d is unknown", flag)
	}
	if flag == 2 {
		if i := r.u32(); i != 0 {
			r.failf("data segment for memory %d, there is one memory at most", i)
		}
	}
	var at uint32
	if flag != 1 {
		if op := r.byte(); op != 0x41 {
			r.failf("the offset of a data segment must be an i32.const, not instruction %#x", op)
		}
		at = uint32(r.signedLEB(32))
		if op := r.byte(); op != opEnd {
			r.failf("the offset of a data segment must be one i32.const")
		}
	}
	n := r.u32()
	r.bytes(n)
	if end := uint64(at) + uint64(n); flag != 1 && end > uint64(m.MemoryMin)<<16 {
		r.failf("a data segment ends at %d, outside the memory of %d pages", end, m.MemoryMin)
	}
}
