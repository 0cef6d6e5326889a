package leadership

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// A leader that is told to stop gives its Lease up as the last thing it does, and the next one has it at once.
func TestRelease(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	for _, standby := range []string{"cold", "warm"} {
		t.Run(standby, func(t *testing.T) { release(t, w, standby) })
	}
	w.expectTurns(t)
}

func release(t *testing.T, w *world, standby string) {
	fields := election("standby: " + standby)
	first := w.startReplica(t, fields, controllers...)
	if at := w.awaitHolder(t, mainLease); at != first.source {
		t.Fatalf("%s leads, not %s", at, first.source)
	}

	second := w.startReplica(t, fields, controllers...)
	second.AwaitReady(t)
	web := workload.Web{Client: w.client, Namespace: namespace, Name: "web-" + standby}
	if standby == "cold" {
		w.prepareNamespace(t)
	}

	since := time.Now()
	mustSucceed(t, web.Create(t.Context(), 40))
	w.firstBy(t, since, "it is under way", func(e cluster.Event) bool {
		return e.Resource == "pods" &&
			e.Verb == "create"
	})

	first.Stop(t)
	converge(t, web, 40, "web:1")
	if at := w.awaitHolder(t, mainLease); at != second.source {
		t.Fatalf("%s leads, not %s", at, second.source)
	}

	var released, taken cluster.Event
	for _, e := range w.renewals(t, mainLease) {
		switch {
		case e.Source == first.source:
			released = e
		case e.Source == second.source && taken.Source == "" && e.Received.After(released.Received):
			taken = e
		}
	}

	if gap := taken.Received.Sub(released.Time); gap > duration/3 {
		t.Errorf("taken %v after it was released", gap)
	} else {
		t.Logf("taken %v after it was released", gap.Round(time.Millisecond))
	}

	for _, e := range w.listWrites(t, since) {
		if e.Source == first.source && e.Time.After(released.Received) {
			t.Errorf("%v ended after the release", e)
		}
	}
	second.Stop(t)
}
