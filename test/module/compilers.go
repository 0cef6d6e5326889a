package module

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Build builds a package of this repository, given by its folder, into a module with TinyGo, as plugins are built;
// further arguments go to TinyGo.
func Build(t testing.TB, to, folder string, arguments ...string) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	c := exec.CommandContext(t.Context(), "_output/toolchain/tinygo", "build", "-target=_output/toolchain/target.json",
		"-opt=z", "-no-debug", "-panic=trap", "-o", to)
	c.Args = append(append(c.Args, arguments...), "./"+folder)
	c.Dir = filepath.Join(filepath.Dir(here), "..", "..")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (the toolchain is built by make toolchain)\n%s", c, err, out)
	}
}

// BuildWithGo builds a built-in plugin's module with Go's own compiler in place of TinyGo, as `windlass plugin build
// --compiler=go` does.
func BuildWithGo(t testing.TB, plugin string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), plugin+".wasm")
	c := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", path,
		"github.com/windlass-dev/windlass/plugins/"+plugin+"/module")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c, err, out)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Escape returns bytes as a string of WebAssembly's text format has them.
func Escape(b []byte) string {
	var text strings.Builder
	for _, x := range b {
		fmt.Fprintf(&text, `\%02x`, x)
	}
	return text.String()
}

// Assemble makes a module of WebAssembly's text format; further arguments go to the assembler.
func Assemble(t testing.TB, text string, arguments ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.wat"), filepath.Join(dir, "out.wasm")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	c := exec.CommandContext(t.Context(), "wasm-as", append([]string{"-all", "-o", out, in}, arguments...)...)
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("wasm-as: %v (it is in Debian's package binaryen: apt-get install binaryen)\n%s", err, said)
	}

	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
