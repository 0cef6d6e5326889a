package surroundings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/plugins/builtin"
	"github.com/windlass-dev/windlass/test/awkward"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// Objects that the API server admits and that are as long, as large and as many as it lets them be. They cost their own
// keys at most: no sync takes a tenth of the fuel that it may have, and nothing is told to be wrong with a controller.
func awkwardObjects() surrounding {
	size := awkward.Size{
		Many: workload.Size(1, 3), Orphans: workload.Size(600, 40_000), Rounds: workload.Size(1, 2),
		Asks: workload.Size(16, 2000), Bytes: workload.Size(100_000, 1_000_000),
	}
	begin := func(t *testing.T, w *world) func(*testing.T) {
		place := awkward.NewPlace(w.cluster)
		place.CreateOrphans(t, size.Orphans)
		all := place.Objects(t, "../../plugins", size)
		place.Create(t, all)
		expectAsNative := func(*testing.T) {}
		if workload.Size(0, 1) == 1 {
			expectAsNative = beginNative(w, place, all)
		}
		return func(t *testing.T) {
			// Each orphan is a request, and the collector sends so many a second.
			patience := time.Duration(size.Orphans) * 50 * time.Millisecond
			cluster.Eventually(t, patience, "owners of odd names are no owners", func() (bool, string) {
				left := place.Left(t, size.Orphans)
				return left == "", left
			})
			w.expectWell(t)
			expectAsNative(t)
		}
	}
	return surrounding{name: "awkward objects", spares: true, quiet: true, begin: begin}
}

// beginNative has the native manager make something of the same objects on a cluster of its own, and returns what waits
// until both have made the same.
func beginNative(w *world, ours *awkward.Place, all []*unstructured.Unstructured) (expectSame func(*testing.T)) {
	c := cluster.Start(w, cluster.Options{Nodes: 3})
	c.Native(w, builtin.Names())
	native := awkward.NewPlace(c)
	native.CreateNamespaces(w, ours)
	native.Create(w, all)

	return func(t *testing.T) {
		const least = 100 // surely: there are more awkward objects that own some
		cluster.Poll(t, time.Second, 15*time.Minute, "both managers make the same of awkward objects", func() (bool, string) {
			tally := native.Tally(t)
			d := awkward.Differences(ours.Tally(t), tally)
			return len(d) == 0 && len(tally) > least, fmt.Sprint(len(tally), " owners natively; ", strings.Join(d, "\n"))
		})
	}
}

// tightenFuel gives all syncs a tenth of the fuel that they have by default, and time enough to use it up however slow
// the machine is.
func tightenFuel(k *config.Configuration) {
	k.Sandbox.Fuel /= 10
	k.Sandbox.Deadline = metav1.Duration{Duration: 10 * time.Minute}
}

// expectNoneGivenUp checks that the sandbox has ended no sync: that none has taken more fuel than it has, too.
func (w *world) expectNoneGivenUp() {
	w.Helper()
	for _, c := range w.manager.Status(w.T).Controllers {
		for _, result := range []string{syncer.Trap, syncer.Performed, syncer.Refused, syncer.Panic} {
			if n := w.manager.Counted(w.T, "windlass_syncs_total", "controller", c.Name, "result", result); n > 0 {
				w.Errorf("%s: %v syncs ended with %s; the last failure is %+v, failing are %+v", c.Name, n, result, c.Last,
					c.Causes)
			}
		}
	}
}
