package leadership

import (
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/workload"
)

// The native manager and Windlass take the one Lease over from each other, and the work with it.
func TestNative(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	native := func() func() {
		return w.Native(t, controllers, "--leader-elect=true", "--leader-elect-lease-duration="+duration.String(),
			"--leader-elect-renew-deadline="+deadline.String(), "--leader-elect-retry-period="+retry.String())
	}
	const there = "127.0.0.1" // where the native manager's requests come from
	lead := func(source string) {
		t.Helper()
		eventually(t, source+" leads", func() (bool, string) {
			at := w.awaitHolder(t, mainLease)
			return at == source, at
		})
	}
	stop := native()
	lead(there)
	w.prepareNamespace(t)
	book := ledger.Keep(t, w.client, namespace)
	web := workload.Web{Client: w.client, Namespace: namespace, Name: "web"}
	mustSucceed(t, web.Create(t.Context(), 10))
	converge(t, web, 10, "web:1")

	t.Log("from native to Windlass")
	ours := w.startReplica(t, election("standby: warm"), controllers...)
	ours.AwaitReady(t)
	since := time.Now()
	mustSucceed(t, web.Image(t.Context(), "web:2"))
	w.firstBy(t, since, "the roll-out is under way", func(e cluster.Event) bool {
		return e.Resource == "pods" &&
			e.Verb == "create" && e.Source == there
	})
	stop()
	converge(t, web, 10, "web:2")
	lead(ours.source)
	book.Rest(t)

	t.Log("from Windlass to native")
	stop = native()
	since = time.Now()
	mustSucceed(t, web.Image(t.Context(), "web:3"))
	w.firstBy(t, since, "the roll-out is under way", func(e cluster.Event) bool {
		return e.Resource == "pods" && e.Verb == "create" && e.Source == ours.source
	})
	ours.Stop(t)
	converge(t, web, 10, "web:3")
	lead(there)
	stop()

	book.End(t)
	turns := w.expectTurns(t)
	if turns[replicaSets] != 2 {
		t.Errorf("the replica set controller changed places %d times, want 2", turns[replicaSets])
	}
	if all := w.listWrites(t, time.Time{}); !slices.ContainsFunc(all,
		func(e cluster.Event) bool { return e.Source == ours.source }) {
		t.Error("Windlass has written nothing")
	}
}
