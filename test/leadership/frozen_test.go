package leadership

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/windlass"
)

const rounds = 4

// A leader that is frozen in the middle of its writes for longer than its Lease lasts, and woken while its successor
// works, writes nothing any more.
func TestFrozen(t *testing.T) { testFrozenLeader(t, nil) }

// The same where the wall clock has been put to another hour meanwhile.
func TestFrozenAndClockJumps(t *testing.T) {
	jumps := []time.Duration{-time.Hour, time.Hour, -duration, duration}
	testFrozenLeader(t, func(round int) time.Duration { return jumps[round%len(jumps)] })
}

// testFrozenLeader is both: jump, if there is one, returns by how much the clock of the frozen one is put on.
func testFrozenLeader(t *testing.T, jump func(round int) time.Duration) {
	t.Parallel()
	w := beginWorld(t)
	fields := election("standby: warm")
	all := map[string]*replica{}
	clocks := map[string]*wallClock{}
	for range 2 {
		p := windlass.Replica{Fields: fields}
		var clock *wallClock
		if jump != nil {
			clock = newWallClock(t)
			p.Program, p.Env = clock.program(t)
		}
		r := w.spawnReplica(t, p, "serviceaccount-controller", "replicaset-controller")
		clocks[r.source] = clock
		all[r.source] = r
		t.Cleanup(func() { r.Signal(t, syscall.SIGCONT) }) // it isn't stopped before this
	}

	w.awaitHolder(t, mainLease)
	w.prepareNamespace(t)
	for _, r := range all {
		r.AwaitReady(t)
	}

	w.createReplicaSet(t)
	book := ledger.Keep(t, w.client, namespace)
	for round := range rounds {
		leader := all[w.awaitHolder(t, mainLease)]
		want := w.scaleInRound(t, round, many/10)
		leader.Signal(t, syscall.SIGSTOP)
		frozen := time.Now()
		first := w.firstBy(t, frozen, "a successor writes", func(e cluster.Event) bool { return e.Source != leader.source })
		if jump != nil {
			clocks[leader.source].setOffset(t, jump(round))
		}
		woken := time.Now()
		leader.Signal(t, syscall.SIGCONT)
		w.awaitAwake(t, leader, woken)
		w.awaitPods(t, want)
		writes := w.listWrites(t, frozen)
		late := 0
		for _, e := range writes {
			if e.Source == leader.source && e.Received.After(first.Received) {
				late++
				t.Errorf("round %d: woken, it wrote: %v, received at %v", round, e, e.Received)
			}
		}
		t.Logf("round %d: frozen for %v; %d writes of the successor's since, %d of the frozen one's", round,
			woken.Sub(frozen).Round(time.Millisecond), len(writes), late)
		book.Rest(t)
	}

	book.End(t)
	w.expectTurns(t)
	for _, r := range all {
		r.AwaitReady(t) // as a leader or as a standby: no process has ended
	}
}

// awaitAwake waits until a process that was woken has looked at the Lease.
func (w *world) awaitAwake(t *testing.T, r *replica, woken time.Time) {
	t.Helper()
	eventually(t, "the frozen one has come to itself", func() (bool, string) {
		all := w.Audit(t, cluster.Filter{Verbs: []string{"get", "update"}, Resources: []string{"leases"}, Since: woken})
		for _, e := range all {
			if e.Source == r.source && e.Received.After(woken) {
				return true, ""
			}
		}
		return false, fmt.Sprint(len(all), " requests for Leases")
	})
}
