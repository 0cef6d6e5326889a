// Package restart kills Windlass at any moment and looks at what is left in the end.
package restart

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/state"
	"github.com/windlass-dev/windlass/test/windlass"
)

// Two namespaces have the same objects under the same names: in one of them work is disturbed, in the other it isn't.
const (
	calm   = "calm"
	killed = "killed"
)

// patience is far more than anything takes here, for machines on which many tests run at once.
const patience = 8 * time.Minute

// A process is killed within so long of its start, which takes most of a second, or of the moment at which all its
// caches are filled.
const (
	start = time.Second
	work  = 2500 * time.Millisecond
)

// createNamespaces makes the namespaces and waits until there can be pods in them; a process must run.
func createNamespaces(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for _, namespace := range []string{calm, killed} {
		windlass.Namespace(t, client, namespace)
		windlass.Account(t, client, namespace)
	}
}

// killUntil has processes live and die until the condition holds, and returns how many were killed. It fails the test
// if those were less than so many.
func killUntil(t *testing.T, c *cluster.Cluster, seed uint64, least int, controllers []string,
	condition func() (done bool, seen string)) (kills int) {
	t.Helper()
	k := windlass.Killer{Cluster: c, Controllers: controllers, Seed: seed, Start: start, Work: work}
	from := time.Now()
	k.Until(t, 50*time.Millisecond, patience, "done", condition)
	k.Stop(t)
	t.Logf("%5.1f s: done, killed %d times (seed %d)", time.Since(from).Seconds(), k.Kills, seed)
	if k.Kills < least {
		t.Errorf("killed %d times, want %d at least: give it more to do", k.Kills, least)
	}
	return k.Kills
}

// expectSame fails the test if the two namespaces don't hold the same.
func expectSame(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	var states [2]state.State
	for i, namespace := range []string{calm, killed} {
		var err error
		if states[i], err = state.Of(t.Context(), client, namespace); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(states[0], states[1]); d != "" {
		t.Errorf("the end is another than undisturbed (-undisturbed +killed):\n%s", d)
	}
}
