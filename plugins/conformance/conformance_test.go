package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/plugins/builtin"
)

// checks are made of each plugin, in this order.
var checks = []struct {
	name string
	run  func(*testing.T, builtin.Plugin)
}{
	{"manifest", manifest},
	{"rights", checkRights},
	{"size", checkSize},
	{"golden", checkGolden},
	{"wakes", checkWakes},
	{"module", checkModule},
	{"simulation", simulation},
}

// Every plugin of the table shows what every plugin must. Plugins run side by side; the checks of one run one after
// another, for its manifest numbers its views.
func TestPlugins(t *testing.T) {
	for _, p := range builtin.Plugins {
		t.Run(p.Folder, func(t *testing.T) {
			t.Parallel()
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) { c.run(t, p) })
			}
		})
	}
}

// testdata is the folder of what a plugin's checks need.
func testdata(p builtin.Plugin) string { return filepath.Join("..", p.Folder, "testdata") }

// The size limit keeps compiling a module at start within about 0.1 s, where one is given as a file: of the built-in
// ones the native code comes with the build.
func checkSize(t *testing.T, p builtin.Plugin) {
	const limit = 160 << 10
	info, err := os.Stat(filepath.Join("..", "modules", p.Folder+".wasm"))
	if err != nil {
		t.Fatalf("%v: run make plugins", err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > limit {
		t.Errorf("%d bytes, the limit is %d", info.Size(), limit)
	}
}
