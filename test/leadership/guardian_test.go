package leadership

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/state"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
)

// unexpired is a time within which no Lease with upstream's times expires that was renewed until now: it lasts 15 s and
// is renewed every two or three.
const unexpired = 10 * time.Second

// A leader that is killed or crashes is succeeded long before its Lease would have expired, also in the middle of its
// writes; these are over by then.
func TestGuardian(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	all := map[string]*replica{}
	start := func() {
		r := w.startReplica(t, "leaderElection: {leaderElect: true, standby: warm}\n", "serviceaccount-controller",
			"replicaset-controller")
		all[r.source] = r
	}
	start()
	w.awaitHolder(t, mainLease)
	start()
	w.prepareNamespace(t)
	w.createReplicaSet(t)
	book := ledger.Keep(t, w.client, namespace)
	const seed = 4
	random := rand.New(rand.NewPCG(seed, seed))
	for round, end := range []struct {
		what string
		do   func(*replica)
		log  string
	}{
		{"killed", func(r *replica) { r.KillManager(t, syscall.SIGKILL) }, `how="signal: killed"`},
		{"crashed", func(r *replica) { r.KillManager(t, syscall.SIGQUIT) }, `how="exit code 2"`},
		{"killed", func(r *replica) { r.KillManager(t, syscall.SIGKILL) }, `how="signal: killed"`},
		{"robbed of its guardian", func(r *replica) { r.KillGuardian(t) },
			`"The guardian has ended, and the manager ends, too"`},
	} {
		for _, r := range all {
			r.AwaitReady(t)
			checkGuardian(t, r)
		}
		leader := all[w.awaitHolder(t, mainLease)]
		want := w.scaleInRound(t, round, many/20+random.IntN(many/2))
		killed := time.Now()
		end.do(leader)
		first := w.firstBy(t, killed, "a successor writes", func(e cluster.Event) bool { return e.Source != leader.source })
		took := first.Received.Sub(killed)
		t.Logf("round %d: %s in the middle of its writes, its successor wrote %v later", round, end.what,
			took.Round(time.Millisecond))
		if took > unexpired {
			t.Errorf("round %d: %s, and its successor wrote only %v later", round, end.what, took)
		}
		w.awaitPods(t, want)
		for _, e := range w.listWrites(t, killed) {
			if e.Source == leader.source && e.Received.After(first.Received) {
				t.Errorf("round %d: %s, it wrote: %v, received at %v", round, end.what, e, e.Received)
			}
		}
		eventually(t, "the log tells", func() (bool, string) {
			log := leader.Log(t)
			return strings.Contains(log, end.log) && strings.Contains(log,
				`"Released the lease" lease="kube-system/kube-controller-manager"`), log[max(0, len(log)-2000):]
		})
		book.Rest(t)
		delete(all, leader.source)
		start()
	}
	book.End(t)

	t.Log("at rest")
	leader := all[w.awaitHolder(t, mainLease)]
	for _, r := range all {
		r.AwaitReady(t)
	}
	killed := time.Now()
	leader.KillManager(t, syscall.SIGKILL)
	w.makeNamespace(t, "after")
	first := w.firstBy(t, killed, "a successor writes", func(e cluster.Event) bool {
		return e.Source != leader.source &&
			e.Namespace == "after"
	})
	took := first.Received.Sub(killed)
	t.Logf("killed at rest, its successor wrote %v later", took.Round(time.Millisecond))
	if took > unexpired {
		t.Errorf("killed at rest, and its successor wrote only %v later", took)
	}
	w.expectTurns(t)
}

// checkGuardian checks that a process tells of its guardian.
func checkGuardian(t *testing.T, r *replica) {
	t.Helper()
	var s state.Status
	mustSucceed(t, json.Unmarshal(r.Get(t, "/windlass/v1/status"), &s))
	if got, want := fmt.Sprint(s.Process.PID, s.Process.Guardian), fmt.Sprint(r.Manager(t), r.PID); got != want ||
		s.Process.PID == r.PID {
		t.Errorf("the process and its guardian are %s, want %s", got, want)
	}
}

// A manager without a guardian runs in the process that was started, and its Lease expires.
func TestUnguarded(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	first := w.startReplica(t, election("guardian: false"), "serviceaccount-controller")
	if at := w.awaitHolder(t, mainLease); at != first.source || first.Manager(t) != first.PID {
		t.Fatalf("%s leads, not %s; process %d, of %d", at, first.source, first.Manager(t), first.PID)
	}
	second := w.startReplica(t, election("standby: warm"), "serviceaccount-controller")
	second.AwaitReady(t)
	renewed := w.renewals(t, mainLease)
	killed := time.Now()
	first.Kill(t)
	eventually(t, "the other one leads", func() (bool, string) {
		at := w.awaitHolder(t, mainLease)
		return at == second.source, at
	})
	for _, e := range w.renewals(t, mainLease)[len(renewed):] {
		if e.Source == second.source && e.Received.Sub(killed) < duration-deadline {
			t.Errorf("taken %v after the kill", e.Received.Sub(killed))
		}
	}
}
