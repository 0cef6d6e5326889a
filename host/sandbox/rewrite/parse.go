package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Module is a decoded module: what the host must know of it, and what Rewrite needs.
type Module struct {
	Imports []Import
	Exports []Export

	// Memory's declared size in pages of 64 KiB; MemoryMax is 65,536 where none is declared.
	HasMemory            bool
	MemoryMin, MemoryMax uint32

	// Manifest is the content of the section ManifestSection; nil where there is none.
	Manifest []byte

	// MutableGlobals are the export names, in the rewritten module, of the globals that the module can change.
	MutableGlobals []string

	sections [13][]byte // bodies by id, as delivered
	order    []byte     // ids as delivered
	types    []Signature
	funcs    []uint32 // type of each function that the module defines
	globals  []global
	bodies   []body
	names    []byte // the name section
}

// Import is a function that the module imports.
type Import struct {
	Module, Name string
	Type         Signature
}

// Export is something that the module exports; Type is set for functions.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
	Type  Signature
}

// Kind is what an export names.
type Kind byte

// The kinds of exports.
const (
	Function Kind = iota
	Table
	Memory
	Global
)

// Signature is a function's type, its value types as in the binary format.
type Signature struct{ Params, Results string }

// String returns the signature as "(i32,i32)->i64".
func (s Signature) String() string {
	list := func(types string) string {
		var names []string
		for _, t := range []byte(types) {
			names = append(names, valueTypes[t])
		}
		return strings.Join(names, ",")
	}
	if s.Results == "" {
		return "(" + list(s.Params) + ")"
	}
	return "(" + list(s.Params) + ")->" + list(s.Results)
}

var valueTypes = map[byte]string{0x7f: "i32", 0x7e: "i64", 0x7d: "f32", 0x7c: "f64", 0x70: "funcref", 0x6f: "externref"}

type global struct {
	typ     byte
	mutable bool
	init    []byte
}

const (
	customSection = iota
	typeSection
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
	dataCountSection
)

var sectionNames = [13]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start",
	"element", "code", "data", "data count"}

// place is each section's place in the order that the format demands.
var place = [13]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 10}

// Parse decodes a module as delivered, checks it against the limits of this package, and refuses what it cannot
// rewrite. A module that it takes need not be valid.
func Parse(wasm []byte) (*Module, error) { return parseModule(wasm, true) }

// Declared decodes a module as Parse does, but for its code: it can't be rewritten.
func Declared(wasm []byte) (*Module, error) { return parseModule(wasm, false) }

func parseModule(wasm []byte, code bool) (*Module, error) {
	switch {
	case len(wasm) > MaxModuleBytes:
		return nil, fmt.Errorf("module has %d bytes, the limit is %d: build it smaller (-opt=2 -no-debug, or -ldflags='-s "+
			"-w')", len(wasm), MaxModuleBytes)
	case len(wasm) == 0:
		return nil, errors.New("not a WebAssembly module: the file is empty: copy the module there as a whole")
	case !bytes.HasPrefix(wasm, []byte("\x00asm")):
		return nil, fmt.Errorf("not a WebAssembly module: it does not begin with \\0asm")
	case len(wasm) < 8:
		return nil, fmt.Errorf("truncated: %d bytes, a module has at least 8: build or copy it again", len(wasm))
	case !bytes.Equal(wasm[4:8], []byte{1, 0, 0, 0}):
		return nil, fmt.Errorf("not a core WebAssembly module of version 1 but % x (a component?): build a core module",
			wasm[4:8])
	}

	m := &Module{MemoryMax: 65536}
	r := &reader{b: wasm, pos: 8, what: "module"}
	for r.hasMore() {
		id := r.byte()
		if int(id) >= len(sectionNames) {
			return nil, fmt.Errorf("section %d is unknown: the module is damaged, or uses a feature that is not allowed here",
				id)
		}
		r.what = sectionNames[id] + " section"
		content := r.bytes(r.u32())
		if r.err != nil {
			return nil, fmt.Errorf("%w: the file is incomplete, build or copy it again", r.err)
		}
		if id == customSection {
			c := &reader{b: content, what: r.what}
			if name := c.name(); c.err != nil {
				return nil, c.err
			} else if name == nameSection {
				m.names = content[c.pos:]
			} else if name == ManifestSection {
				m.Manifest = content[c.pos:]
			}
			continue
		}
		if n := len(m.order); n > 0 && place[m.order[n-1]] >= place[id] {
			return nil, fmt.Errorf("%s section comes after the %s section: the module is damaged",
				sectionNames[id], sectionNames[m.order[n-1]])
		}
		m.order = append(m.order, id)
		m.sections[id] = content
	}

	for _, id := range m.order {
		if id == codeSection && !code {
			continue
		}
		c := &reader{b: m.sections[id], what: sectionNames[id] + " section"}
		m.section(id, c)
		if c.hasMore() {
			c.failf("%d bytes are left over", len(c.b)-c.pos)
		}
		if c.err != nil {
			return nil, c.err
		}
	}

	if code && len(m.funcs) != len(m.bodies) {
		return nil, fmt.Errorf("module declares %d functions and has %d bodies: it is damaged", len(m.funcs), len(m.bodies))
	}
	return m, nil
}

func (m *Module) section(id byte, r *reader) {
	switch id {
	case typeSection:
		for n := countAtMost(r, 3, MaxTypes, "types"); n > 0 && r.err == nil; n-- {
			m.functionType(r)
		}
	case importSection:
		for n := countAtMost(r, 4, MaxImports, "imports"); n > 0 && r.err == nil; n-- {
			m.importEntry(r)
		}
	case functionSection:
		for n := countAtMost(r, 1, MaxFunctions, "functions"); n > 0 && r.err == nil; n-- {
			m.funcs = append(m.funcs, m.typeIndex(r))
		}
	case tableSection:
		m.tableEntry(r)
	case memorySection:
		m.memoryEntry(r)
	case globalSection:
		for n := countAtMost(r, 4, MaxGlobals, "globals"); n > 0 && r.err == nil; n-- {
			m.globalEntry(r)
		}
	case exportSection:
		for n := countAtMost(r, 3, MaxExports, "exports"); n > 0 && r.err == nil; n-- {
			m.exportEntry(r)
		}
	case startSection:
		r.failf("a start function is not allowed, it would run before the host can meter it: export it as _initialize")
	case elementSection:
		var elements uint32
		for n := countAtMost(r, 2, MaxSegments, "segments"); n > 0 && r.err == nil; n-- {
			_, entries := element(r, nil, nil)
			if elements += entries; elements > MaxElements {
				r.failf("more than %d elements", MaxElements)
			}
		}
	case codeSection:
		n := r.count(1)
		if r.err == nil && int(n) != len(m.funcs) {
			r.failf("%d bodies for %d declared functions", n, len(m.funcs))
		}
		for ; n > 0 && r.err == nil; n-- {
			m.functionBody(r)
		}
	case dataSection:
		for n := countAtMost(r, 2, MaxSegments, "segments"); n > 0 && r.err == nil; n-- {
			m.dataSegment(r)
		}
	case dataCountSection:
		r.u32()
	}
}

// countAtMost reads the length of a vector and checks it against a limit.
func countAtMost(r *reader, size, limit int, what string) uint32 {
	n := r.count(size)
	if int(n) > limit {
		r.failf("%d %s, the limit is %d", n, what, limit)
	}
	return n
}

func (m *Module) functionType(r *reader) {
	if form := r.byte(); form != 0x60 {
		r.failf("type form %#x is not a function: garbage collection types are not allowed here", form)
	}
	list := func(limit int, what string) string {
		b := r.bytes(r.u32())
		if len(b) > limit {
			r.failf("a function type has %d %s, the limit is %d", len(b), what, limit)
		}
		for _, t := range b {
			valueType(r, t)
		}
		return string(b)
	}
	m.types = append(m.types, Signature{list(MaxLocals, "parameters"), list(MaxResults, "results")})
}

func valueType(r *reader, t byte) byte {
	if valueTypes[t] == "" {
		r.failf("value type %#x is not allowed here (SIMD, exceptions and garbage collection are off: build for generic "+
			"wasm32)", t)
	}
	return t
}

func (m *Module) typeIndex(r *reader) uint32 {
	i := r.u32()
	if int(i) >= len(m.types) {
		r.failf("type %d does not exist", i)
		return 0
	}
	return i
}

func (m *Module) importEntry(r *reader) {
	module, name := r.name(), r.name()
	if kind := r.byte(); kind != byte(Function) && r.err == nil {
		what := "something unknown"
		if int(kind) < len(kinds) {
			what = "a " + kinds[kind]
		}
		r.failf("imports %s %q.%q: a plugin may import only functions; define it in the module", what, module, name)
	}
	t := m.typeIndex(r)
	if r.err == nil {
		m.Imports = append(m.Imports, Import{module, name, m.types[t]})
	}
}

var kinds = [...]string{"function", "table", "memory", "global", "tag"}

func (m *Module) tableEntry(r *reader) {
	n := r.count(3)
	if n > 1 {
		r.failf("%d tables, the limit is 1", n)
	}
	if n == 0 || r.err != nil {
		return
	}
	if t := r.byte(); t != 0x70 {
		r.failf("a table of type %#x is not allowed here, only funcref", t)
	}
	if least, _ := readLimits(r, "table"); least > MaxTableEntries {
		r.failf("a table of %d entries, the limit is %d", least, MaxTableEntries)
	}
}

func (m *Module) memoryEntry(r *reader) {
	n := r.count(2)
	if n > 1 {
		r.failf("%d memories, the limit is 1", n)
	}
	if n == 0 || r.err != nil {
		return
	}
	m.HasMemory = true
	least, most := readLimits(r, "memory")
	m.MemoryMin, m.MemoryMax = least, min(most, 65536)
	if least > m.MemoryMax {
		r.failf("the minimum of %d pages is more than the maximum, %d", least, m.MemoryMax)
	}
}

func readLimits(r *reader, what string) (least, most uint32) {
	flag := r.byte()
	if flag > 1 {
		r.failf("a %s that is shared or 64 bits wide (flag %#x) is not allowed here", what, flag)
	}
	least, most = r.u32(), 1<<32-1
	if flag == 1 {
		most = r.u32()
	}
	return least, most
}

func (m *Module) globalEntry(r *reader) {
	t, mutable := valueType(r, r.byte()), r.byte()
	if mutable > 1 {
		r.failf("mutability %#x is unknown", mutable)
	}
	if mutable == 1 && (t == 0x70 || t == 0x6f) {
		r.failf("global %d is a mutable %s: the host could not reset it between syncs", len(m.globals), valueTypes[t])
	}
	from := r.pos
	constant(r, nil, nil)
	if r.err != nil {
		return
	}
	if mutable == 1 {
		if len(m.MutableGlobals) == MaxMutableGlobals {
			r.failf("more than %d mutable globals", MaxMutableGlobals)
		}
		m.MutableGlobals = append(m.MutableGlobals, fmt.Sprintf("%s%d", mutablePrefix, len(m.globals)))
	}
	m.globals = append(m.globals, global{t, mutable == 1, r.b[from:r.pos]})
}

func (m *Module) exportEntry(r *reader) {
	e := Export{Name: r.name(), Kind: Kind(r.byte()), Index: r.u32()}
	if r.err != nil {
		return
	}
	if strings.HasPrefix(e.Name, ReservedPrefix) {
		r.failf("export %q: names that begin with %q are reserved for the host", e.Name, ReservedPrefix)
	}
	switch e.Kind {
	case Function:
		if i := int(e.Index); i < len(m.Imports) {
			e.Type = m.Imports[i].Type
		} else if i -= len(m.Imports); i < len(m.funcs) {
			e.Type = m.types[m.funcs[i]]
		} else {
			r.failf("export %q: function %d does not exist", e.Name, e.Index)
		}
	case Table, Memory, Global:
	default:
		r.failf("export %q: kind %#x is not allowed here", e.Name, byte(e.Kind))
	}
	m.Exports = append(m.Exports, e)
}

// Delivered is the module as delivered without its custom sections: what must be valid before Rewrite's result is used.
func (m *Module) Delivered() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range m.order {
		out = appendSection(out, id, m.sections[id])
	}
	return out
}

func appendSection(out []byte, id byte, content []byte) []byte {
	return append(appendU(append(out, id), uint32(len(content))), content...)
}
