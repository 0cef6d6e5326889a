package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/author/scaffold"
)

// A folder is tested as its source is: its module is built anew when that or the SDK is newer, and only then.
func TestFresh(t *testing.T) {
	tinygo, err := filepath.Abs("../../_output/toolchain/tinygo") // which make toolchain makes
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TINYGO", tinygo)
	folder, _, err := scaffold.New(t.Context(), scaffold.Options{Name: "hello",
		Folder: filepath.Join(t.TempDir(), "hello"), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	test := func() (*Report, string) {
		t.Helper()
		var said bytes.Buffer
		r, err := Module(t.Context(), folder, Options{Run: "cases", Messages: &said})
		if err != nil {
			t.Fatal(err)
		}
		return r, said.String()
	}

	if r, said := test(); len(r.Findings) > 0 || len(r.Cases) != 2 ||
		!strings.Contains(said, "there is no module yet: building it anew") {
		t.Errorf("at first: %s\n%s", said, r.Text())
	}
	if r, said := test(); len(r.Findings) > 0 || said != "" {
		t.Errorf("again: %s\n%s", said, r.Text())
	}

	source := filepath.Join(folder, "hello.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `Data.Set("message", message)`, `Data.Set("message", "hello, "+message)`, 1)
	if changed == string(text) {
		t.Fatal("the plugin's source has another form")
	}
	if err := os.WriteFile(source, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, said := test(); len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Detail, "hello, world") ||
		!strings.Contains(said, "hello.go is newer than") {
		t.Errorf("the source has changed: %s\n%s", said, r.Text())
	}

	// Later than the module, whatever the pace of this machine's clock.
	sdk := filepath.Join(folder, ".windlass", "sdk", "call.go")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(sdk, later, later); err != nil {
		t.Fatal(err)
	}
	if _, said := test(); !strings.Contains(said, filepath.Join(".windlass", "sdk", "call.go")+" is newer than") {
		t.Errorf("the SDK has changed: %s", said)
	}

	if err := os.WriteFile(source, []byte("package hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Module(t.Context(), folder, Options{})
	if err == nil || !strings.Contains(err.Error(), "has to be built anew") ||
		!strings.Contains(err.Error(), "name its file") {
		t.Errorf("a source that doesn't build: %v", err)
	}
	if r, err := Module(t.Context(), filepath.Join(folder, "hello.wasm"), Options{Run: "cases"}); err != nil ||
		len(r.Cases) != 2 {
		t.Errorf("the module by its file: %v", err)
	}
}

// A module that the kit can't build is said to be old.
func TestOldModule(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"plugin.wasm", "plugin.c"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("no module"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	earlier := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(folder, "plugin.wasm"), earlier, earlier); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p, err := Find(t.Context(), folder, &said)
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err := p.Wasm(); err != nil || string(wasm) != "no module" {
		t.Errorf("it holds %q, %v", wasm, err)
	}
	if !strings.Contains(said.String(), "plugin.wasm is older than "+filepath.Join(folder, "plugin.c")) {
		t.Errorf("it says %q", said.String())
	}
}
