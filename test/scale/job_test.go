package scale

import (
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// BenchmarkThousandPods is the time that an indexed Job takes for 1,000 pods, 100 at a time, under either manager with
// the same rate of requests. Run it with -benchtime 1x.
func BenchmarkThousandPods(b *testing.B) {
	c := cluster.Start(b, cluster.Options{Nodes: 10, Audit: true})
	jobs := c.Client().BatchV1().Jobs(namespace)
	w := work{controller: "job-controller", unit: "s/job", writes: map[string]cluster.Filter{}}
	w.create = func(name string) error {
		_, err := jobs.Create(b.Context(), workload.Job(name, 1000, 100, workload.Indexed), metav1.CreateOptions{})
		return err
	}
	w.done = func(name string) (bool, string) {
		j, err := jobs.Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		if j.Status.Failed > 0 {
			b.Fatalf("pods failed: %+v", j.Status)
		}
		return finished(j), fmt.Sprintf("%+v", j.Status)
	}
	for verb, resource := range map[string]string{"create": "pods", "patch": "pods", "update": "jobs/status"} {
		w.writes[verb+"-"+resource] = cluster.Filter{Verbs: []string{verb}, Resources: []string{resource}}
	}
	measureWork(b, c, w)
}

func finished(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}
