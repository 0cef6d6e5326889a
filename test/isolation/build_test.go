package isolation

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The repository's root.
const root = "../.."

// build compiles hostile plugins with TinyGo, and gives the folder that their modules are in.
func build(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		c := exec.CommandContext(t.Context(), "_output/toolchain/tinygo", "build", "-target=_output/toolchain/target.json", "-opt=z", "-no-debug", "-panic=trap")
		if name == "garbage" { // it has no SDK, which brings the heap
			c.Args = append(c.Args, "-gc=leaking")
		}
		c.Args = append(c.Args, "-o", filepath.Join(folder, name+".wasm"), "./test/isolation/testdata/"+name)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v (the toolchain is built by make toolchain)\n%s", c, err, out)
		}
	}
	return folder
}
