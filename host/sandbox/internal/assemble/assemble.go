// Package assemble writes small WebAssembly modules for tests.
package assemble

// Value types.
const (
	I32 = "\x7f"
	I64 = "\x7e"
)

// Module is a module under construction. Its parts may be set to anything, valid or not.
type Module struct {
	sections [13]vector
	imports  uint32
	funcs    uint32
}

type vector struct {
	n       uint32
	content []byte
}

// Add appends an entry to a section.
func (m *Module) Add(section byte, entry ...byte) {
	m.sections[section].n++
	m.sections[section].content = append(m.sections[section].content, entry...)
}

// Type adds a function type and returns its index.
func (m *Module) Type(params, results string) uint32 {
	m.Add(1, Join([]byte{0x60}, Name(params), Name(results))...)
	return m.sections[1].n - 1
}

// Import adds an imported function; all imports come before the first Func.
func (m *Module) Import(module, name, params, results string) uint32 {
	m.Add(2, Join(Name(module), Name(name), []byte{0}, U(m.Type(params, results)))...)
	m.imports++
	return m.imports - 1
}

// Func adds a function with its locals, exported unless the name is empty. The code needs no end.
func (m *Module) Func(export, params, results, locals string, code ...byte) uint32 {
	m.Add(3, U(m.Type(params, results))...)
	body := U(uint32(len(locals)))
	for _, t := range []byte(locals) {
		body = append(body, 1, t)
	}
	body = append(append(body, code...), 0x0b)
	m.Add(10, Join(U(uint32(len(body))), body)...)
	m.funcs++
	index := m.imports + m.funcs - 1
	if export != "" {
		m.Export(export, 0, index)
	}
	return index
}

// Memory adds a memory, exported as "memory".
func (m *Module) Memory(pages uint32) {
	m.Add(5, Join([]byte{0}, U(pages))...)
	m.Export("memory", 2, 0)
}

// Global adds a mutable i32.
func (m *Module) Global(value int32) uint32 {
	m.Add(6, Join([]byte{0x7f, 1}, Const(value), []byte{0x0b})...)
	return m.sections[6].n - 1
}

// Export adds an export: kind 0 is a function, 1 a table, 2 a memory, 3 a global.
func (m *Module) Export(name string, kind byte, index uint32) {
	m.Add(7, Join(Name(name), []byte{kind}, U(index))...)
}

// Data puts bytes into the memory at the start.
func (m *Module) Data(at int32, content string) {
	m.Add(11, Join([]byte{0}, Const(at), []byte{0x0b}, Name(content))...)
}

// Bytes is the module.
func (m *Module) Bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11, 0} {
		s := m.sections[id]
		if s.n == 0 {
			continue
		}
		content := Join(U(s.n), s.content)
		if id == 8 || id == 0 || id == 12 { // not vectors
			content = s.content
		}
		out = Join(out, []byte{id}, U(uint32(len(content))), content)
	}
	return out
}

// U is an unsigned number.
func U(v uint32) []byte {
	var b []byte
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// S is a signed number.
func S(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Const is an i32.const.
func Const(v int32) []byte { return append([]byte{0x41}, S(int64(v))...) }

// Const64 is an i64.const.
func Const64(v int64) []byte { return append([]byte{0x42}, S(v)...) }

// Call is a call.
func Call(function uint32) []byte { return append([]byte{0x10}, U(function)...) }

// Name is a string with its length.
func Name(s string) []byte { return append(U(uint32(len(s))), s...) }

// Join joins pieces of code.
func Join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
