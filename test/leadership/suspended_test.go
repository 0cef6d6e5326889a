package leadership

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/webhook"
)

// A leader is suspended in the middle of a write that takes longer than its Lease lasts, and another one leads. The
// write is done late, and once; the successor, which doesn't know of it, puts right what it has made too many; the
// suspended one sends nothing more when it wakes.
func TestSuspendedInLongWrite(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	all := map[string]*replica{}
	for range 2 {
		r := w.startReplica(t, election("standby: warm"), "serviceaccount-controller", "replicaset-controller")
		all[r.source] = r
		t.Cleanup(func() { r.Signal(t, syscall.SIGCONT) }) // it isn't stopped before this
	}
	leader := all[w.awaitHolder(t, mainLease)]
	w.prepareNamespace(t)
	for _, r := range all {
		r.AwaitReady(t)
	}
	w.createReplicaSet(t)

	slow := &slowWrite{over: make(chan struct{})}
	webhook.Start(t, w.client, webhook.Webhook{Name: "slow", Namespace: namespace, Resource: "pods",
		Operation: registrationv1.Create, Policy: registrationv1.Ignore, Timeout: 30 * time.Second, Answer: slow.answer})
	_, err := w.client.AppsV1().ReplicaSets(namespace).Patch(t.Context(), "many", types.MergePatchType,
		[]byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{}, "scale")
	mustSucceed(t, err)
	eventually(t, "the write is sent again with more time than the Lease has", func() (bool, string) {
		asked := slow.seen()
		return len(asked) > 1, fmt.Sprint(asked)
	})
	leader.Signal(t, syscall.SIGSTOP)
	suspended := time.Now()
	first := w.firstBy(t, suspended, "a successor writes", func(e cluster.Event) bool { return e.Source != leader.source })

	close(slow.over)
	madeBy := func() (sources []string) {
		for _, e := range w.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"pods"}}) {
			if e.Code == http.StatusCreated {
				sources = append(sources, e.Source)
			}
		}
		return sources
	}
	eventually(t, "the late write is done", func() (bool, string) {
		return slices.Contains(madeBy(), leader.source), fmt.Sprint(slow.seen())
	})
	woken := time.Now()
	leader.Signal(t, syscall.SIGCONT)
	w.awaitAwake(t, leader, woken)
	w.awaitPods(t, 1)
	for _, e := range w.listWrites(t, suspended) {
		if e.Source == leader.source && e.Received.After(first.Received) {
			t.Errorf("woken at %v, it wrote: %v, received at %v", woken, e, e.Received)
		}
	}
	if all := madeBy(); len(all) != 2 || all[0] == all[1] {
		t.Errorf("pods were made by %v, want one by the suspended leader and one by its successor", all)
	}
}

// slowWrite is a webhook that has the creates of the first pod that it is asked about wait, and lets all others pass.
type slowWrite struct {
	over chan struct{} // closed when they may pass, too

	mu    sync.Mutex
	asked []string // the pods' names, each as often as it was asked about
}

func (s *slowWrite) answer(ctx context.Context, r *admissionv1.AdmissionRequest) string {
	s.mu.Lock()
	s.asked = append(s.asked, r.Name)
	waits := r.Name == s.asked[0]
	s.mu.Unlock()
	if waits {
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	}
	return ""
}

func (s *slowWrite) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}
