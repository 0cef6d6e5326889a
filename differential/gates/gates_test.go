package gates

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write config/kcm/gates.txt")

// What is known of feature gates is what upstream's packages say: go test ./gates -update writes it.
func TestGates(t *testing.T) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Text(strings.TrimSpace(string(folder)))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(want, "-controller"); n < 15 {
		t.Errorf("only %d uses of gates were found in controllers' code", n)
	}

	path := filepath.Join("..", "..", "config", "kcm", "gates.txt")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("config/kcm/gates.txt is stale: cd differential && go test ./gates -update\n%s", d)
	}
}
