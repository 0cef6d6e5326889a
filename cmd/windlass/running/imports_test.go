package running_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Who asks a running windlass knows what it may answer, and has nothing of what runs controllers: no manager, no Lease,
// no discovery.
func TestAskingNeedsNoManager(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}

	const host = "github.com/windlass-dev/windlass/host/"
	all := strings.Fields(string(out))
	for _, name := range []string{"manager", "leader", "discovery"} {
		if slices.Contains(all, host+name) {
			t.Errorf("the commands that ask have host/%s in them", name)
		}
	}
	if !slices.Contains(all, host+"state") {
		t.Errorf("go list doesn't tell what the commands are made of: %d packages", len(all))
	}
}
