package surroundings

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/test/awkward"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// Objects that the API server admits and that are as long, as large and as many as it lets them be. They cost their own
// keys at most: no sync takes a tenth of the fuel that it may have, and nothing is told to be wrong with a controller.
func awkwardObjects() surrounding {
	orphans := workload.Size(600, 40_000)
	return surrounding{name: "awkward objects", spares: true, quiet: true, begin: func(t *testing.T, w *world) func() {
		w.stage.Namespace(t, awkward.Namespace)
		awkward.CreateOrphans(t, w.stage.Dynamic, orphans)
		awkward.Create(t, w.stage.Dynamic, workload.Size(1, 10))
		return func() {
			cluster.Eventually(t, cluster.Patience, "owners of odd names are no owners", func() (bool, string) {
				left := awkward.Left(t.Context(), t, w.stage.Dynamic, orphans)
				return left == "", left
			})
			if keys := string(w.manager.Get(t, "/windlass/v1/keys")); strings.Contains(keys, sandbox.ErrBudget.Error()) {
				t.Errorf("a sync has taken a tenth of its fuel: %s", keys)
			}
			w.expectWell(t)
		}
	}}
}

// tightenFuel gives all syncs a tenth of the fuel that they have by default.
func tightenFuel(k *config.Configuration) { k.Sandbox.Fuel /= 10 }
