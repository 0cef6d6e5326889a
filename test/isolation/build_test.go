package isolation

import (
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/test/module"
)

// buildPlugins compiles hostile plugins with TinyGo, and returns the folder that their modules are in.
func buildPlugins(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		var more []string
		if name == "garbage" { // it has no SDK, which brings the heap
			more = []string{"-gc=leaking"}
		}
		module.Build(t, filepath.Join(folder, name+".wasm"), "test/isolation/testdata/"+name, more...)
	}
	return folder
}
