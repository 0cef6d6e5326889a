package rewrite

import "fmt"

// Opcodes that the rewriter looks at.
const (
	opLoop         = 0x03
	opElse         = 0x05
	opEnd          = 0x0b
	opCall         = 0x10
	opCallIndirect = 0x11
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opRefFunc      = 0xd2
	opMisc         = 0xfc

	miscMemoryCopy = 10
	miscMemoryFill = 11
)

// instruction is one decoded instruction: bytes from..to of the body.
type instruction struct {
	op       byte
	misc     uint32 // after opMisc
	index    uint32 // of the function: call, ref.func
	from, to int
}

func (in instruction) isBulk() bool { return in.op == opMisc && in.misc >= miscMemoryCopy }

// readInstruction decodes one instruction; what it does not decode fully is refused.
func readInstruction(r *reader) instruction {
	in := instruction{from: r.pos}
	op := r.byte()
	in.op = op
	switch {
	case op == 0x02 || op == opLoop || op == 0x04:
		blockType(r)
	case op <= 0x01 || op == opElse || op == opEnd || op == 0x0f || op == 0x1a || op == 0x1b || op == 0xd1:
	case op == opCall || op == opRefFunc:
		in.index = r.u32()
	case op == 0x0c || op == 0x0d || op >= 0x20 && op <= 0x24: // br, br_if, locals and globals
		r.u32()
	case op == 0x0e: // br_table
		for n := r.count(1); n > 0 && r.err == nil; n-- {
			r.u32()
		}
		r.u32()
	case op == opCallIndirect:
		r.u32()
		r.u32()
	case op == 0x1c: // select with a type
		if n := r.u32(); n != 1 {
			r.failf("select of %d types", n)
		}
		valueType(r, r.byte())
	case op == 0x25 || op == 0x26:
		r.failf("table.get and table.set are not allowed: the host could not reset the table between syncs")
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.u32()
		r.u32()
	case op == opMemorySize || op == opMemoryGrow:
		expectZero(r)
	case op == 0x41:
		r.signedLEB(32)
	case op == 0x42:
		r.signedLEB(64)
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op >= 0x45 && op <= 0xc4: // arithmetic
	case op == 0xd0:
		referenceType(r)
	case op == opMisc:
		in.misc = r.u32()
		switch {
		case in.misc <= 7: // saturating conversions
		case in.misc == miscMemoryCopy:
			expectZero(r)
			expectZero(r)
		case in.misc == miscMemoryFill:
			expectZero(r)
		case in.misc <= 17:
			r.failf("instruction 0xfc %d (memory.init, data.drop, elem.drop or a table instruction) is not allowed: the host "+
				"could not undo its effect between syncs", in.misc)
		default:
			r.failf("instruction 0xfc %d is unknown", in.misc)
		}
	default:
		r.failf("instruction %#x is not allowed here (SIMD, threads, tail calls, exceptions and garbage collection are "+
			"off: build for generic wasm32)", op)
	}

	in.to = r.pos
	return in
}

func expectZero(r *reader) {
	if b := r.byte(); b != 0 {
		r.failf("memory %d does not exist", b)
	}
}

func blockType(r *reader) {
	if r.pos < len(r.b) {
		if t := r.b[r.pos]; t == 0x40 || valueTypes[t] != "" {
			r.pos++
			return
		}
	}
	if r.signedLEB(33) < 0 {
		r.failf("a block's type is not allowed here")
	}
}

// body is a function's code and what metering must know of it.
type body struct {
	code   []byte // declarations of locals, then instructions
	at     int    // where the instructions begin
	groups uint32 // of declared locals
	locals uint32 // parameters included
	entry  int64  // cost of the instructions outside loops
	loops  []int64
	calls  bool
	bulk   bool
}

// functionBody reads one function of the code section.
func (m *Module) functionBody(r *reader) {
	code := r.bytes(r.u32())
	f := &reader{b: code, what: "code"}
	if len(code) > MaxBodyBytes {
		f.failf("body has %d bytes, the limit is %d: split the function, or build with less inlining",
			len(code), MaxBodyBytes)
	}
	if r.err != nil {
		return
	}

	b := body{code: code}
	locals := uint64(len(m.types[m.funcs[len(m.bodies)]].Params))
	b.groups = f.count(2)
	for n := b.groups; n > 0 && f.err == nil; n-- {
		locals += uint64(f.u32())
		valueType(f, f.byte())
		if locals > MaxLocals {
			f.failf("more than %d locals", MaxLocals)
		}
	}

	b.locals, b.at = uint32(locals), f.pos
	m.measure(f, &b)
	if f.err != nil {
		r.err = fmt.Errorf("function %s: %w", m.functionName(len(m.bodies)), f.err)
		return
	}
	m.bodies = append(m.bodies, b)
}

// measure adds up what the entry and each loop of a function pay, and checks how the function nests.
func (m *Module) measure(f *reader, b *body) {
	b.entry = 1
	blocks := uint64(1)
	var open []int // the loop that each open block lies in, by its place in b.loops, or -1
	var nested int // loops now open

	inside := func() int {
		if len(open) == 0 {
			return -1
		}
		return open[len(open)-1]
	}

	ended := false
	for f.hasMore() {
		if ended {
			f.failf("instructions after the function's end")
			return
		}

		in := readInstruction(f)
		if f.err != nil {
			return
		}

		if l := inside(); l < 0 {
			b.entry += instructionCost(in)
		} else {
			b.loops[l] += instructionCost(in)
		}

		switch in.op {
		case 0x02, 0x04:
			blocks++
			open = append(open, inside())
		case opLoop:
			blocks++
			nested++
			open = append(open, len(b.loops))
			b.loops = append(b.loops, 1)
		case opEnd:
			if len(open) == 0 {
				ended = true
				continue
			}
			last := inside()
			open = open[:len(open)-1]
			if last != inside() && last >= 0 {
				nested--
			}
		case opCall, opCallIndirect, opMemoryGrow:
			b.calls = true
		}

		b.bulk = b.bulk || in.isBulk()
		if nested > MaxNestedLoops {
			f.failf("more than %d nested loops", MaxNestedLoops)
		}
		if len(open) > MaxNestedBlocks {
			f.failf("more than %d nested blocks", MaxNestedBlocks)
		}
		if blocks*uint64(b.locals) > MaxLocalsTimesBlocks {
			f.failf("locals times blocks are more than %d: split the function", MaxLocalsTimesBlocks)
		}
	}

	if !ended {
		f.failf("truncated: no end")
	}
}

// instructionCost returns what an instruction pays. Calls stand for what surrounds them; what only structures the code
// is free.
func instructionCost(in instruction) int64 {
	switch in.op {
	case opEnd, opElse, 0x01, 0x02, opLoop:
		return 0
	case opCall, opCallIndirect:
		return 3
	}
	return 1
}
