package plugins_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/plugins"
)

// Every folder with a module is built in, so that a forgotten `make plugins` is noticed here first.
func TestEveryPluginIsBuiltIn(t *testing.T) {
	mains, err := filepath.Glob("*/module/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no plugins found: %v", err)
	}
	var want []string
	for _, file := range mains {
		want = append(want, filepath.Dir(filepath.Dir(file)))
	}
	if got := plugins.Names(); !slices.Equal(got, want) {
		t.Fatalf("built in: %v, plugins here: %v: run make plugins", got, want)
	}
	for _, name := range want {
		module, ok := plugins.Module(name)
		if !ok || !bytes.HasPrefix(module, []byte("\x00asm")) {
			t.Errorf("the module of %s is no WebAssembly: run make plugins", name)
		}
	}
}

func TestUnknownModule(t *testing.T) {
	for _, name := range []string{"", "nobody", "../modules", "README.md"} {
		if _, ok := plugins.Module(name); ok {
			t.Errorf("there is a module %q", name)
		}
	}
}
