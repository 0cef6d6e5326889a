package hostile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/test/module"
)

// The markers in a .wat: what a good plugin has and this one doesn't export itself; where its manifest lies, as pointer
// and length.
const (
	pluginMark   = "(; plugin ;)"
	manifestMark = "(; manifest ;)"
	manifestAt   = 16 // in memory
)

// parts are those of a good plugin, by what they export.
var parts = []struct{ export, text string }{
	{"windlass_abi_v1", `(func (export "windlass_abi_v1"))`},
	{"windlass_alloc", `(func (export "windlass_alloc") (param i32) (result i32) (i32.const 4096))`},
	{"windlass_manifest", `(func (export "windlass_manifest") (result i64) (i64.const ` + manifestMark + `))`},
	{"windlass_configure", `(func (export "windlass_configure") (result i64) (i64.const 0))`},
	{"windlass_sync", `(func (export "windlass_sync") (result i64) (i64.const 0))`},
}

// assemble makes the module of testdata/<name>.wat, completed by what a good plugin has.
func assemble(t testing.TB, name string, change func(*abi.Controller)) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", name+".wat"))
	if err != nil {
		t.Fatal(err)
	}

	return assembleText(t, name, string(source), change)
}

// assembleText makes a module of its text, completed likewise.
func assembleText(t testing.TB, name, text string, change func(*abi.Controller)) []byte {
	t.Helper()
	return assembleManifest(t, text, newManifest(name, change))
}

// assembleManifest makes a module of its text and its manifest.
func assembleManifest(t testing.TB, text string, of *abi.Manifest) []byte {
	t.Helper()
	var more strings.Builder
	if !strings.Contains(text, `"memory"`) {
		more.WriteString("(memory (export \"memory\") 1)\n")
	}
	m := encodeManifest(t, of)
	fmt.Fprintf(&more, "(data (i32.const %d) \"%s\")\n", manifestAt, strings.ReplaceAll(m, `"`, `\22`))

	for _, p := range parts {
		if !strings.Contains(text, `"`+p.export+`"`) {
			more.WriteString(p.text + "\n")
		}
	}

	text = strings.Replace(text, pluginMark, more.String(), 1)
	text = strings.ReplaceAll(text, manifestMark, fmt.Sprintf("0x%08x%08x", manifestAt, len(m)))
	return module.Assemble(t, text, "-v", "none")
}

// newManifest returns that of a plugin whose controller's keys are the config maps that are labelled with its name.
func newManifest(name string, change func(*abi.Controller)) *abi.Manifest {
	maps := abi.Resource{Version: "v1", Name: "configmaps"}
	c := abi.Controller{
		Name: name + "-controller",
		Views: []abi.View{{
			Name: "configmaps", Resource: maps, Fields: []string{"metadata.name", "metadata.namespace", "data"},
			Where: &abi.Condition{Op: abi.OpIn, Path: "metadata.labels[hostile]", Values: []string{name}},
		}},
		Writes: []abi.Write{{Resource: maps, Verbs: []string{"create", "update", "delete"}}},
		State:  true,
	}
	if change != nil {
		change(&c)
	}
	return &abi.Manifest{Description: "0", Name: name, Version: "1", Controllers: []abi.Controller{c}}
}

func encodeManifest(t testing.TB, m *abi.Manifest) string {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	// The description comes first: manifest-changes writes over it.
	return `{"description":"0",` + strings.Replace(string(b[1:]), `"description":"0",`, "", 1)
}

var comment = regexp.MustCompile(`(?m)^;; (.*)\n`)

// moduleComment returns what a .wat says of itself.
func moduleComment(t testing.TB, name string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", name+".wat"))
	if err != nil {
		t.Fatal(err)
	}
	said := comment.FindSubmatch(source)
	if said == nil {
		t.Fatalf("testdata/%s.wat: its first line doesn't say what it does", name)
	}
	return string(said[1])
}

// What follows writes modules that no assembler makes.

const header = "\x00asm\x01\x00\x00\x00"

func encodeLEB128(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func lengthPrefixed(b string) string { return encodeLEB128(len(b)) + b }

// section is a section of a vector of n entries.
func section(id byte, n int, entries string) string {
	return string(id) + lengthPrefixed(encodeLEB128(n)+entries)
}

// function is a module that is one function of the body, with n copies of it.
func function(n int, locals int, body string) []byte {
	code := "\x00"
	if locals > 0 {
		code = "\x01" + encodeLEB128(locals) + "\x7f"
	}
	code = lengthPrefixed(code + body + "\x0b")
	return []byte(header + section(1, 1, "\x60\x00\x00") + section(3, n, strings.Repeat("\x00", n)) +
		section(10, n, strings.Repeat(code, n)))
}

// neighbourModule returns the neighbour, for something to be done to its bytes.
func neighbourModule(t testing.TB) []byte { return bytes.Clone(assemble(t, "neighbour", nil)) }

// straightCalls returns a module one of whose exports calls a leaf of 6,000 divisions 20,000 times, without a loop.
func straightCalls(name, export, result string) func(testing.TB) []byte {
	return func(t testing.TB) []byte {
		leaf := strings.Repeat("(local.set 0 (i64.div_u (i64.const -1) (i64.or (local.get 0) (i64.const 3))))\n", 6000)
		calls := strings.Repeat("(call $leaf)\n", 20_000)
		return assembleText(t, name, fmt.Sprintf(`(module
			(; plugin ;)
			(func $leaf (local i64) %s)
			(func (export "%s") (result i64) %s (i64.const %s)))`, leaf, export, calls, result), nil)
	}
}
