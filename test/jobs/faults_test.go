// Package jobs runs Jobs over a bad network.
package jobs

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/faults"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const (
	namespace = "default"
	pods      = 100 // of each job
)

// A bad network and a slow cache don't make a job count a pod twice or forget one, or make more pods than it needs.
func TestFaults(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	f := &faults.Faults{}
	f.After, f.Before = chooseOneIn(20, 1), chooseOneIn(20, 2)
	f.WatchDelay.Store(int64(300 * time.Millisecond))
	controllers := []string{"serviceaccount-controller", "job-controller"}
	windlass.Start(t, c, windlass.Options{Controllers: controllers, Wrap: f.Wrap})
	client := c.Client()
	windlass.Account(t, client, namespace)
	for _, j := range []*batchv1.Job{
		workload.Job("indexed", pods, 25, workload.Indexed),
		workload.Job("plain", pods, 25),
	} {
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	expectIndexes(t, awaitComplete(t, client, "indexed"), podsOfJob(t, client, "indexed"))
	awaitComplete(t, client, "plain")
	if n := len(podsOfJob(t, client, "plain")); n != pods {
		t.Errorf("%d pods, want %d", n, pods)
	}
	if lost := f.Lost.Load(); lost < 20 {
		t.Errorf("only %d requests were lost: the test tests nothing", lost)
	}
}

// awaitComplete waits until the job is, and fails the test unless its numbers are right and no pod is kept any more.
func awaitComplete(t *testing.T, client kubernetes.Interface, name string) *batchv1.Job {
	t.Helper()
	var job *batchv1.Job
	cluster.Eventually(t, cluster.Patience, name+" is complete", func() (bool, string) {
		var err error
		job, err = client.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		complete := func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}
		return slices.ContainsFunc(job.Status.Conditions, complete), fmt.Sprintf("%+v", job.Status)
	})

	s := job.Status
	uncounted := 0
	if u := s.UncountedTerminatedPods; u != nil {
		uncounted = len(u.Succeeded) + len(u.Failed)
	}
	if s.Succeeded != pods || s.Failed != 0 || s.Active != 0 || uncounted > 0 {
		t.Errorf("%s: status %+v, want %d succeeded", name, s, pods)
	}

	for _, p := range podsOfJob(t, client, name) {
		if slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) {
			t.Errorf("%s: pod %s still has the finalizer; status %+v", name, p.Name, p.Status)
		}
	}
	return job
}

func podsOfJob(t *testing.T, client kubernetes.Interface, job string) []corev1.Pod {
	t.Helper()
	of := metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job}
	l, err := client.CoreV1().Pods(namespace).List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return l.Items
}

// expectIndexes fails the test unless each index has had exactly one pod.
func expectIndexes(t *testing.T, job *batchv1.Job, all []corev1.Pod) {
	t.Helper()
	if want := fmt.Sprintf("0-%d", pods-1); job.Status.CompletedIndexes != want {
		t.Errorf("completed indexes %q, want %q", job.Status.CompletedIndexes, want)
	}
	seen := map[string]string{}
	for _, p := range all {
		i := p.Annotations[batchv1.JobCompletionIndexAnnotation]
		if seen[i] != "" {
			t.Errorf("%s and %s have the index %s", seen[i], p.Name, i)
		}
		seen[i] = p.Name
		labelled := p.Labels[batchv1.JobCompletionIndexAnnotation] == i
		if p.Spec.Hostname != job.Name+"-"+i || !labelled || p.Spec.Containers[0].Env[0].Name != "JOB_COMPLETION_INDEX" {
			t.Errorf("pod %s of index %s: host name %q, labels %v", p.Name, i, p.Spec.Hostname, p.Labels)
		}
	}
	if len(seen) != pods {
		t.Errorf("%d pods, want %d", len(seen), pods)
	}
}

// chooseOneIn returns what chooses one request in n by chance.
func chooseOneIn(n int, seed uint64) func(*http.Request) bool {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, seed))
	return func(*http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n) == 0
	}
}
