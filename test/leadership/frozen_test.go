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
func TestFrozen(t *testing.T) { frozen(t, nil) }

// The same where the wall clock has been put to another hour meanwhile.
func TestFrozenAndClockJumps(t *testing.T) {
	jumps := []time.Duration{-time.Hour, time.Hour, -duration, duration}
	frozen(t, func(round int) time.Duration { return jumps[round%len(jumps)] })
}

// frozen is both: jump, if there is one, tells by how much the clock of the frozen one is put on.
func frozen(t *testing.T, jump func(round int) time.Duration) {
	t.Parallel()
	w := begin(t)
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
		r := w.spawn(t, p, "serviceaccount-controller", "replicaset-controller")
		clocks[r.source] = clock
		all[r.source] = r
		t.Cleanup(func() { r.Signal(t, syscall.SIGCONT) }) // it isn't stopped before this
	}

	w.holder(t, mainLease)
	w.space(t)
	for _, r := range all {
		r.AwaitReady(t)
	}

	w.flood(t)
	book := ledger.Keep(t, w.client, namespace)
	for round := range rounds {
		leader := all[w.holder(t, mainLease)]
		want := w.tide(t, round, many/10)
		leader.Signal(t, syscall.SIGSTOP)
		frozen := time.Now()
		first := w.firstBy(t, frozen, "a successor writes", func(e cluster.Event) bool { return e.Source != leader.source })
		if jump != nil {
			clocks[leader.source].put(t, jump(round))
		}
		woken := time.Now()
		leader.Signal(t, syscall.SIGCONT)
		eventually(t, "the frozen one has come to itself", func() (bool, string) {
			all := w.Audit(t, cluster.Filter{Verbs: []string{"get", "update"}, Resources: []string{"leases"}, Since: woken})
			for _, e := range all {
				if e.Source == leader.source && e.Received.After(woken) {
					return true, ""
				}
			}
			return false, fmt.Sprint(len(all), " requests for Leases")
		})
		w.rest(t, want)
		writes := w.writes(t, frozen)
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
