package scale

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// BenchmarkThousandPods is the time that an indexed Job takes for 1,000 pods, 100 at a time, under either manager with the same rate of requests. Run it with -benchtime 1x.
func BenchmarkThousandPods(b *testing.B) {
	c := cluster.Start(b, cluster.Options{Nodes: 10, Audit: true})
	client := c.Client()
	run := func(b *testing.B, name string) {
		windlass.Account(b, client, namespace)
		for b.Loop() {
			begin := time.Now()
			if _, err := client.BatchV1().Jobs(namespace).Create(b.Context(), workload.Job(name, 1000, 100, workload.Indexed), metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
			windlass.Eventually(b, 10*time.Minute, name+" is complete", func() (bool, string) {
				j, err := client.BatchV1().Jobs(namespace).Get(b.Context(), name, metav1.GetOptions{})
				if err != nil {
					return false, err.Error()
				}
				if j.Status.Failed > 0 {
					b.Fatalf("pods failed: %+v", j.Status)
				}
				return finished(j), fmt.Sprintf("%+v", j.Status)
			})
			b.ReportMetric(time.Since(begin).Seconds(), "s/job")
			for verb, resource := range map[string]string{"create": "pods", "patch": "pods", "update": "jobs/status"} {
				b.ReportMetric(float64(len(c.Audit(b, cluster.Filter{Users: []string{account("job-controller")}, Verbs: []string{verb}, Resources: []string{resource}, Since: begin}))), verb+"-"+resource)
			}
		}
	}
	windlass.InTurn(b, c, "job-controller", with("job-controller"), run)
}

func finished(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}
