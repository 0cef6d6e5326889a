package module

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BuildWithGo builds a built-in plugin's module with Go's own compiler in place of TinyGo, as `windlass plugin build --compiler=go` does.
func BuildWithGo(t testing.TB, plugin string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), plugin+".wasm")
	c := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/windlass-dev/windlass/plugins/"+plugin+"/module")
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
