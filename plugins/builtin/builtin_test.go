package builtin_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/plugins/builtin"
)

// The table has the plugins natively, for tests and generators: windlass runs modules, and has no plugin's code in it.
func TestWindlassHasNoPluginNatively(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/windlass")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const here = "github.com/windlass-dev/windlass/"
	all := strings.Fields(string(out))
	for _, p := range builtin.Plugins {
		for _, imported := range all {
			if imported == here+"plugins/"+p.Folder || imported == here+"plugins/builtin" {
				t.Errorf("cmd/windlass has %s in it", imported)
			}
		}
	}
	if !strings.Contains(string(out), here+"plugins\n") {
		t.Errorf("go list doesn't tell what cmd/windlass is made of: %d packages", len(all))
	}
}
