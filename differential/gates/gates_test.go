package gates

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/plugins/builtin"
)

var update = flag.Bool("update", false, "write config/kcm/gates.txt")

// AllAlpha and AllBeta stand for the gates that they set upstream, in each version that can be emulated.
func TestImplied(t *testing.T) {
	for minor := kcm.EmulatedLeast; minor <= kcm.Minor; minor++ {
		for _, all := range []string{"AllAlpha", "AllBeta"} {
			gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
			if err := gates.SetEmulationVersionAndMinCompatibilityVersion(version.MajorMinor(1, uint(minor)),
				version.MajorMinor(1, uint(minor-1))); err != nil {
				t.Fatal(err)
			}
			if err := gates.SetFromMap(map[string]bool{all: false}); err != nil { // on, some need others that are off
				t.Fatal(err)
			}

			var want []string
			for set := range strings.SplitSeq(gates.(fmt.Stringer).String(), ",") {
				if name, _, _ := strings.Cut(set, "="); name != all {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			if d := cmp.Diff(want, kcm.Implied(all, minor)); d != "" {
				t.Errorf("%s of v1.%d: -upstream +ours:\n%s", all, minor, d)
			}
			if len(want) < 10 {
				t.Errorf("%s of v1.%d: only %d gates", all, minor, len(want))
			}
		}
	}
}

// Of each controller that is here it is known where upstream's code of it is, so that no gate of its is missed.
func TestEachControllerHasItsPackages(t *testing.T) {
	for _, name := range builtin.Names() {
		if packages[name] == nil {
			t.Errorf("%s: name upstream's folders of it in packages", name)
		}
	}
}

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
