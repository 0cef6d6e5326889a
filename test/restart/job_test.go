package restart

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/ledger"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const (
	completions = 1000
	parallelism = 250

	// Of a job without indexes the pods are counted by their UIDs, which is where one could be counted twice.
	plainCompletions = 200
)

// An indexed Job goes on where it was: each index has one pod and is counted once, there are never more pods at work
// than wanted, and the end is as if nothing had happened.
func TestJob(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	client := c.Client()
	controllers := []string{"serviceaccount-controller", "job-controller"}
	p := windlass.Spawn(t, c, controllers...)
	createNamespaces(t, client)
	from := time.Now()
	createJobs(t, client, calm)
	cluster.Eventually(t, patience, "undisturbed", complete(t, client, calm))
	t.Logf("%5.1f s undisturbed", time.Since(from).Seconds())
	p.Stop(t)

	l := ledger.Keep(t, client, killed)
	createJobs(t, client, killed)
	killUntil(t, c, 2, 5, controllers, complete(t, client, killed))
	seen := l.End(t)
	if want := completions + plainCompletions; seen.Made != want {
		t.Errorf("%d pods were made, want %d", seen.Made, want)
	}

	for name, n := range map[string]int{"many": completions, "plain": plainCompletions} {
		j, err := client.BatchV1().Jobs(killed).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		indexes := ""
		if name == "many" {
			indexes = fmt.Sprint("0-", n-1)
		}
		if s := j.Status; int(s.Succeeded) != n || s.Failed != 0 || s.Active != 0 || s.CompletedIndexes != indexes {
			t.Errorf("%s: status %+v", name, s)
		}
	}
	expectSame(t, client)
	count := map[int]int{}
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"create"}, Resources: []string{"pods"},
		Namespace: killed}) {
		count[e.Code]++
	}
	// those that were under way are told as 504, whether they made a pod or not
	t.Logf("creates of pods by code: %v", count)
}

func createJobs(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	for _, j := range []*batchv1.Job{workload.Job("many", completions, parallelism, workload.Indexed),
		workload.Job("plain", plainCompletions, plainCompletions/4)} {
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// complete reports whether all jobs are.
func complete(t *testing.T, client kubernetes.Interface, namespace string) func() (bool, string) {
	return func() (done bool, seen string) {
		l, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		complete := 0
		for _, j := range l.Items {
			for _, c := range j.Status.Conditions {
				if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
					complete++
				}
			}
			seen += fmt.Sprintf("%s: %d active, %d succeeded; ", j.Name, j.Status.Active, j.Status.Succeeded)
		}
		return complete == len(l.Items), seen
	}
}
