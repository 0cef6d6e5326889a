package rewrite

import (
	"fmt"
	"slices"
)

// Rewrite returns the module as the host runs it, its memory created with the given number of pages. The module as
// delivered must be valid.
func (m *Module) Rewrite(pages uint32) ([]byte, error) {
	w := writer{
		imports: uint32(len(m.Imports)),
		fuel:    uint32(len(m.globals)),
		depth:   uint32(len(m.globals)) + 1,
		pages:   uint32(len(m.globals)) + 2,
		refill:  uint32(len(m.Imports)),
		grow:    uint32(len(m.Imports)) + 1,
		nothing: uint32(len(m.types)),
		bulk:    uint32(len(m.types)) + 2,
		bodies:  m.bodies,
	}
	added := w.addedFunctions()
	code := appendU(nil, uint32(len(m.bodies)+len(added)))
	for i := range m.bodies {
		f, err := w.function(&m.bodies[i])
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", m.functionName(i), err)
		}
		code = append(appendU(code, uint32(len(f))), f...)
	}
	functions := m.sections[functionSection]
	if len(added) > 0 {
		var types []byte
		for _, f := range added {
			code = append(appendU(code, uint32(len(f.body))), f.body...)
			types = appendU(types, f.typ)
		}
		functions = m.extended(functionSection, uint32(len(m.funcs)), uint32(len(added)), types...)
	}

	out := []byte("\x00asm\x01\x00\x00\x00")
	put := func(id byte, content []byte) {
		if content != nil {
			out = appendSection(out, id, content)
		}
	}
	types := uint32(len(m.types))
	put(typeSection, m.extended(typeSection, types, 3, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 3, 0x7f, 0x7f, 0x7f, 0))
	put(importSection, m.extended(importSection, w.imports, 2, appendImports(types)...))
	put(functionSection, functions)
	put(tableSection, m.sections[tableSection])
	if m.HasMemory {
		put(memorySection, appendU(appendU([]byte{1, 1}, pages), pages))
	}
	put(globalSection, m.writeGlobals(&w))
	put(exportSection, m.writeExports(&w))
	if s := m.sections[elementSection]; s != nil {
		r := &reader{b: s, what: "element section"}
		n := r.u32()
		elements := appendU(nil, n)
		for ; n > 0 && r.err == nil; n-- {
			elements, _ = element(r, elements, w.renumber)
		}
		put(elementSection, elements)
	}
	put(dataCountSection, m.sections[dataCountSection])
	if m.sections[codeSection] != nil {
		put(codeSection, code)
	}
	put(dataSection, m.sections[dataSection])
	put(customSection, m.writeNames(&w, added))
	return out, nil
}

// addedFunction is one behind the module's own.
type addedFunction struct {
	name string
	typ  uint32
	body []byte
}

// addedFunctions returns what the module's functions need, and puts their indices into the writer.
func (w *writer) addedFunctions() (all []addedFunction) {
	next := w.imports + uint32(len(w.bodies)) + 2
	add := func(name string, typ uint32, body []byte) (index uint32) {
		all = append(all, addedFunction{MeterModule + "." + name, typ, body})
		return next + uint32(len(all)) - 1
	}
	if slices.ContainsFunc(w.bodies, func(b body) bool { return b.bulk }) {
		w.copy = add("copy", w.bulk, w.pieceBody(miscMemoryCopy))
		w.fill = add("fill", w.bulk, w.pieceBody(miscMemoryFill))
	}
	if slices.ContainsFunc(w.bodies, func(b body) bool { return b.calls }) {
		w.look = add("look", w.nothing, w.lookBody())
	}
	return all
}

// extended is a section whose vector gets more entries at its end.
func (m *Module) extended(id byte, have, more uint32, entries ...byte) []byte {
	old := m.sections[id]
	if old != nil {
		r := &reader{b: old}
		r.u32()
		old = old[r.pos:]
	}
	return append(append(appendU(nil, have+more), old...), entries...)
}

func appendImports(types uint32) []byte {
	b := appendName(appendName(nil, MeterModule), RefillImport)
	b = appendU(append(b, byte(Function)), types)
	b = appendName(appendName(b, MeterModule), GrowImport)
	return appendU(append(b, byte(Function)), types+1)
}

func (m *Module) writeGlobals(w *writer) []byte {
	b := appendU(nil, uint32(len(m.globals))+3)
	for _, g := range m.globals {
		mutable := byte(0)
		if g.mutable {
			mutable = 1
		}
		b = constant(&reader{b: g.init, what: "global"}, append(b, g.typ, mutable), w.renumber)
	}
	b = append(b, 0x7e, 1, 0x42, 0, opEnd) // fuel
	b = append(b, 0x7e, 1, 0x42, 0, opEnd) // depth
	return append(appendS(append(b, 0x7f, 1, 0x41), int64(m.MemoryMin)), opEnd)
}

func (m *Module) writeExports(w *writer) []byte {
	b := appendU(nil, uint32(len(m.Exports)+3+len(m.MutableGlobals)))
	add := func(name string, kind Kind, index uint32) {
		b = appendU(append(appendName(b, name), byte(kind)), index)
	}
	for _, e := range m.Exports {
		if e.Kind == Function {
			e.Index = w.renumber(e.Index)
		}
		add(e.Name, e.Kind, e.Index)
	}
	add(FuelGlobal, Global, w.fuel)
	add(DepthGlobal, Global, w.depth)
	add(PagesGlobal, Global, w.pages)
	for i, g := range m.globals {
		if g.mutable {
			add(fmt.Sprintf("%s%d", mutablePrefix, i), Global, uint32(i))
		}
	}
	return b
}

// writer holds the indices of what is added.
type writer struct {
	imports             uint32
	fuel, depth, pages  uint32
	refill, grow        uint32
	copy, fill, look    uint32 // added functions: the first two do so by pieces
	nothing, bulk       uint32 // types: of what takes and returns nothing, and of those two
	bodies              []body
	looks               looks // of the function that is written
	out                 []byte
	temporary, nextLoop uint32
}

// renumber makes room for the two added imports.
func (w *writer) renumber(function uint32) uint32 {
	if function >= w.imports {
		return function + 2
	}
	return function
}

func (w *writer) function(b *body) ([]byte, error) {
	var err error
	if w.looks, err = w.looksOf(b); err != nil {
		return nil, err
	}
	w.out, w.temporary, w.nextLoop = nil, b.locals, 0
	groups := &reader{b: b.code}
	groups.u32()
	declared := b.code[groups.pos:b.at]
	if b.bulk { // one local more, for sizes
		w.out = append(append(appendU(nil, b.groups+1), declared...), 1, 0x7f)
	} else {
		w.out = append(appendU(nil, b.groups), declared...)
	}

	w.payFuel(b.entry)
	if !b.isPlain() {
		// One test for both: either is below zero when the sign bit of the two, or-ed, is set.
		w.getGlobal(w.fuel)
		w.getGlobal(w.depth)
		w.out = append(w.out, 0x84)
		w.refillIfNegative()
	}

	r := &reader{b: b.code, pos: b.at, what: "code"}
	for r.hasMore() {
		in := readInstruction(r)
		if r.err != nil {
			break
		}
		w.instruction(b, in)
	}

	return w.out, r.err
}

func (w *writer) instruction(b *body, in instruction) {
	switch {
	case in.op == opCall && in.index < w.imports:
		w.copyInstruction(b, in)
	case in.op == opCall:
		w.changeDepth(-1)
		w.out = appendU(append(w.out, opCall), w.renumber(in.index))
		w.changeDepth(1)
		w.lookAfterCall(w.callsPlain(in))
	case in.op == opCallIndirect:
		w.changeDepth(-1)
		w.copyInstruction(b, in)
		w.changeDepth(1)
		w.lookAfterCall(false)
	case in.op == opRefFunc:
		w.out = appendU(append(w.out, opRefFunc), w.renumber(in.index))
	case in.op == opMemorySize:
		w.getGlobal(w.pages)
	case in.op == opMemoryGrow:
		w.out = appendU(append(w.out, opCall), w.grow)
	case in.isBulk(): // the size is on top of the stack: an eighth of it is paid
		w.out = appendU(append(w.out, 0x21), w.temporary)
		w.getGlobal(w.fuel)
		w.out = appendU(append(w.out, 0x20), w.temporary)
		w.out = append(w.out, 0xad, 0x42, 3, 0x88, 0x7d)
		w.setGlobal(w.fuel)
		w.testFuel()
		w.out = appendU(append(w.out, 0x20), w.temporary)
		w.out = appendU(append(w.out, 0x20), w.temporary)
		w.out = append(appendS(append(w.out, 0x41), bulkPiece), 0x4b, 0x04)
		w.out = appendS(w.out, int64(w.bulk))
		pieces := w.copy
		if in.misc == miscMemoryFill {
			pieces = w.fill
		}
		w.out = append(appendU(append(w.out, opCall), pieces), opElse)
		w.copyInstruction(b, in)
		w.out = append(w.out, opEnd)
	case in.op == opLoop:
		w.copyInstruction(b, in)
		w.payFuel(b.loops[w.nextLoop])
		w.nextLoop++
		w.testFuel()
	default:
		w.copyInstruction(b, in)
	}
}

func (w *writer) copyInstruction(b *body, in instruction) {
	w.out = append(w.out, b.code[in.from:in.to]...)
}
func (w *writer) getGlobal(global uint32) { w.out = appendU(append(w.out, 0x23), global) }
func (w *writer) setGlobal(global uint32) { w.out = appendU(append(w.out, 0x24), global) }

func (w *writer) payFuel(units int64) {
	w.getGlobal(w.fuel)
	w.out = append(appendS(append(w.out, 0x42), units), 0x7d)
	w.setGlobal(w.fuel)
}

func (w *writer) testFuel() {
	w.getGlobal(w.fuel)
	w.refillIfNegative()
}

func (w *writer) refillIfNegative() {
	w.out = append(w.out, 0x42, 0, 0x53, 0x04, 0x40, opCall)
	w.out = append(appendU(w.out, w.refill), opEnd)
}

func (w *writer) lookAfterCall(ofPlain bool) {
	if w.looks.afterCalls && !ofPlain || w.looks.afterPlain {
		w.out = appendU(append(w.out, opCall), w.look)
	}
}

func (w *writer) changeDepth(by int64) {
	w.getGlobal(w.depth)
	w.out = append(appendS(append(w.out, 0x42), by), 0x7c)
	w.setGlobal(w.depth)
}
