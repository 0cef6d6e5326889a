package leadership

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	rounds = 4
	many   = 120
)

// A leader that is frozen in the middle of its writes for longer than its Lease lasts, and woken while its successor works, writes nothing any more.
func TestFrozen(t *testing.T) { frozen(t, nil) }

// The same where the wall clock has been put to another hour meanwhile.
func TestFrozenAndClockJumps(t *testing.T) {
	jumps := []time.Duration{-time.Hour, time.Hour, -duration, duration}
	frozen(t, func(round int) time.Duration { return jumps[round%len(jumps)] })
}

// frozen is both: jump, if there is one, tells by how much the clock of the frozen one is put on.
func frozen(t *testing.T, jump func(round int) time.Duration) {
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
		t.Cleanup(func() { _ = syscall.Kill(r.PID, syscall.SIGCONT) }) // ours, which isn't stopped before this
	}
	w.holder(t, mainLease)
	w.space(t)
	for _, r := range all {
		r.AwaitReady(t)
	}
	sets := w.client.AppsV1().ReplicaSets(namespace)
	labels := map[string]string{"app": "many"}
	_, err := sets.Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "many"}, Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main:1"}}},
		},
	}}, metav1.CreateOptions{})
	do(t, err)
	book := ledger.Keep(t, w.client, namespace)
	scale := func(n int) {
		t.Helper()
		_, err := sets.Patch(t.Context(), "many", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{}, "scale")
		do(t, err)
	}
	rest := func(n int) {
		t.Helper()
		windlass.EventuallyEvery(t, 100*time.Millisecond, patience, fmt.Sprint(n, " pods"), func() (bool, string) {
			have, err := w.pods(t.Context())
			if err != nil {
				return false, err.Error()
			}
			s, err := sets.Get(t.Context(), "many", metav1.GetOptions{})
			return err == nil && have == n && int(s.Status.Replicas) == n, fmt.Sprintf("%d pods, %v", have, err)
		})
	}
	for round := range rounds {
		leader := all[w.holder(t, mainLease)]
		want, under := many, func(n int) bool { return n > many/10 }
		if round%2 == 1 {
			want, under = 0, func(n int) bool { return n < many-many/10 }
		}
		scale(want)
		eventually(t, "the leader is in the middle of it", func() (bool, string) {
			n, err := w.pods(t.Context())
			return err == nil && under(n), fmt.Sprint(n, " pods")
		})
		leader.Signal(t, syscall.SIGSTOP)
		frozen := time.Now()
		first := w.firstBy(t, frozen, "a successor writes", func(e cluster.Event) bool { return e.Source != leader.source })
		if jump != nil {
			clocks[leader.source].put(t, jump(round))
		}
		leader.Signal(t, syscall.SIGCONT)
		woken := time.Now()
		eventually(t, "the frozen one has come to itself", func() (bool, string) {
			all := w.Audit(t, cluster.Filter{Verbs: []string{"get", "update"}, Resources: []string{"leases"}, Since: woken})
			for _, e := range all {
				if e.Source == leader.source && e.Received.After(woken) {
					return true, ""
				}
			}
			return false, fmt.Sprint(len(all), " requests for Leases")
		})
		rest(want)
		writes := w.writes(t, frozen)
		late := 0
		for _, e := range writes {
			if e.Source == leader.source && e.Received.After(first.Received) {
				late++
				t.Errorf("round %d: woken, it wrote: %v, received at %v", round, e, e.Received)
			}
		}
		t.Logf("round %d: frozen for %v; %d writes of the successor's since, %d of the frozen one's", round, woken.Sub(frozen).Round(time.Millisecond), len(writes), late)
		book.Rest(t)
	}
	book.End(t)
	w.expectTurns(t)
	for _, r := range all {
		r.AwaitReady(t) // as a leader or as a standby: no process has ended
	}
}
