// Package unsettled has whole managers write where the API server answers late or not at all: nothing is made twice
// for that, and nothing waits for ever.
package unsettled

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/faults"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/webhook"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// Jobs of parallelism 1: the answers to one's creates are lost for longer than a sync sends a write again, and the
// cache doesn't show what was made. Its later syncs ask for the same pod. The other's process ends meanwhile, and the
// next one finds the pod.
func TestLostAnswersMakeNoSecondPod(t *testing.T) {
	t.Parallel()
	const settles, restarts = "settles", "restarts"
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	client := c.Client()
	var answered atomic.Bool // those of namespace settles
	f := &faults.Faults{
		Holds: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/pods") },
		After: func(r *http.Request) bool {
			return isPodsCreate(r, restarts) || isPodsCreate(r, settles) && !answered.Load()
		},
	}
	controllers := []string{"serviceaccount-controller", "job-controller"}
	m := windlass.Start(t, c, windlass.Options{Controllers: controllers, Wrap: f.Wrap})

	f.WatchHeld.Store(true)
	books := map[string]*ledger.Ledger{}
	for _, namespace := range []string{settles, restarts} {
		windlass.Namespace(t, client, namespace)
		windlass.Account(t, client, namespace)
		books[namespace] = ledger.Keep(t, client, namespace)
		_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), workload.Job("one", 1, 1), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}

	isTold := func(namespace string) bool {
		return strings.Contains(string(m.Get(t, "/windlass/v1/keys")), "whether it was done: create v1/pods "+namespace+"/")
	}
	cluster.Eventually(t, time.Minute, "syncs have ended without an answer", func() (bool, string) {
		return isTold(settles) && isTold(restarts), string(m.Get(t, "/windlass/v1/keys"))
	})
	const doubt = "of which it isn't known whether it was done"
	if status := string(m.Get(t, "/windlass/v1/status")); !strings.Contains(status, doubt) {
		t.Errorf("the status tells of no such write: %s", status)
	}
	lost := f.Lost.Load()
	cluster.Eventually(t, time.Minute, "later syncs have sent creates, too", func() (bool, int64) {
		return f.Lost.Load() >= lost+4, f.Lost.Load() - lost
	})
	answered.Store(true)
	cluster.Eventually(t, time.Minute, "an answer settles it", func() (bool, string) {
		return !isTold(settles), string(m.Get(t, "/windlass/v1/keys"))
	})
	if !isTold(restarts) {
		t.Error("the other's write is settled without an answer")
	}

	m.Stop(t)
	windlass.Start(t, c, windlass.Options{Controllers: controllers})
	for namespace, book := range books {
		cluster.Eventually(t, time.Minute, namespace+": the Job has its pod", func() (bool, batchv1.JobStatus) {
			j, err := client.BatchV1().Jobs(namespace).Get(t.Context(), "one", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return j.Status.Active+j.Status.Succeeded == 1, j.Status
		})
		if seen := book.End(t); seen.Made != 1 {
			t.Errorf("%s: %d pods were made, want 1", namespace, seen.Made)
		}
	}
}

// Two webhooks that may be ignored and hang for ten seconds each, one after the other, take longer than the Lease lasts
// by default: the pod comes all the same.
func TestHungWebhooksOutlastLease(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	client := c.Client()
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "job-controller"},
		Configure: func(k *config.Configuration) { k.LeaderElection.LeaderElect = true }})

	const namespace = "slow"
	windlass.Namespace(t, client, namespace)
	windlass.Account(t, client, namespace)
	for _, name := range []string{"first", "second"} {
		webhook.Start(t, client, webhook.Webhook{Name: name, Namespace: namespace, Mutating: true, Resource: "pods",
			Operation: registrationv1.Create, Policy: registrationv1.Ignore, Answer: webhook.Hang})
	}
	book := ledger.Keep(t, client, namespace)
	begun := time.Now()
	_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), workload.Job("one", 1, 1), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	cluster.Eventually(t, 2*time.Minute, "the pod comes", func() (bool, string) {
		l, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Items) > 0, fmt.Sprint(len(l.Items), " pods")
	})
	t.Logf("after %v", time.Since(begun).Round(100*time.Millisecond))
	if seen := book.End(t); seen.Made != 1 {
		t.Errorf("%d pods were made, want 1", seen.Made)
	}
}

func isPodsCreate(r *http.Request, namespace string) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces/"+namespace+"/pods")
}
