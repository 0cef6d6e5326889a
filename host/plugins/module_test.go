package plugins

import (
	"encoding/json"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// guest is a small plugin, assembled by hand: it has a manifest, and where it echoes, refuses its settings with their
// own bytes.
type guest struct {
	manifest string
	echo     bool
	imports  [][2]string // functions without parameters or results
	pages    int
}

func encodeUnsigned(n uint64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func encodeSigned(n int64) (b []byte) {
	for ; n < -64 || n >= 64; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n)&0x7f)
}

func withLength(b []byte) []byte { return append(encodeUnsigned(uint64(len(b))), b...) }

func section(id byte, items ...[]byte) []byte {
	content := encodeUnsigned(uint64(len(items)))
	for _, i := range items {
		content = append(content, i...)
	}
	return append([]byte{id}, withLength(content)...)
}

func concatenate(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func (g guest) wasm() []byte {
	const text, buffer = 1024, 65536
	if g.pages == 0 {
		g.pages = 40
	}
	body := func(code ...[]byte) []byte {
		return withLength(concatenate([]byte{0}, concatenate(code...), []byte{0x0b}))
	}
	i64const := func(n int64) []byte { return append([]byte{0x42}, encodeSigned(n)...) }
	configure := body(i64const(0))
	if g.echo {
		configure = body(i64const(buffer<<32), []byte{0x23, 0, 0xad, 0x84}) // global.get 0, i64.extend_i32_u, i64.or
	}

	var imports [][]byte
	for _, i := range g.imports {
		imports = append(imports, concatenate(withLength([]byte(i[0])), withLength([]byte(i[1])), []byte{0, 2}))
	}

	export := func(name string, kind byte, index int) []byte {
		if kind == 0 {
			index += len(imports)
		}
		return concatenate(withLength([]byte(name)), []byte{kind}, encodeUnsigned(uint64(index)))
	}

	return concatenate([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{0x60, 1, 0x7f, 1, 0x7f}, []byte{0x60, 0, 1, 0x7e}, []byte{0x60, 0, 0}),
		section(2, imports...),
		section(3, []byte{0}, []byte{1}, []byte{1}, []byte{1}, []byte{2}),
		section(5, concatenate([]byte{0}, encodeUnsigned(uint64(g.pages)))),
		section(6, []byte{0x7f, 1, 0x41, 0, 0x0b}),
		section(7, export("memory", 2, 0), export("windlass_alloc", 0, 0), export("windlass_manifest", 0, 1),
			export("windlass_configure", 0, 2),
			export("windlass_sync", 0, 3), export("windlass_abi_v1", 0, 4)),
		section(10, body([]byte{0x20, 0, 0x24, 0, 0x41}, encodeSigned(buffer)),
			body(i64const(text<<32|int64(len(g.manifest)))),
			configure, body(i64const(0)), body()),
		section(11, concatenate([]byte{0, 0x41}, encodeSigned(text), []byte{0x0b}, withLength([]byte(g.manifest)))))
}

// manifest returns the JSON of a plugin with one controller of the same name.
func manifest(t *testing.T, name string, change ...func(*abi.Manifest)) string {
	t.Helper()
	m := &abi.Manifest{Name: name, Version: "1", Controllers: []abi.Controller{{
		Name: name + "-controller", Alias: name,
		Views: []abi.View{{Name: "pods", Resource: abi.Resource{Version: "v1", Name: "pods"},
			Fields: []string{"metadata.name"}}},
	}}}
	for _, f := range change {
		f(m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
