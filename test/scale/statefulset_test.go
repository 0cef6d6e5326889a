package scale

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// BenchmarkHundredReplicas is the time that a StatefulSet takes to get 100 pods, one after the other is ready, under either manager with the same rate of requests. Run it with
// -benchtime 1x.
func BenchmarkHundredReplicas(b *testing.B) {
	c := cluster.Start(b, cluster.Options{Nodes: 10, Audit: true})
	client := c.Client()
	run := func(b *testing.B, name string) {
		windlass.Account(b, client, namespace)
		for b.Loop() {
			begin := time.Now()
			if _, err := client.AppsV1().StatefulSets(namespace).Create(b.Context(), workload.StatefulSet(name, 100), metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
			windlass.Eventually(b, 10*time.Minute, name+" is complete", func() (bool, string) {
				s, err := client.AppsV1().StatefulSets(namespace).Get(b.Context(), name, metav1.GetOptions{})
				if err != nil {
					return false, err.Error()
				}
				x := s.Status
				all := x.Replicas == 100 && x.AvailableReplicas == 100 && x.UpdatedReplicas == 100 && x.CurrentReplicas == 100
				return x.ObservedGeneration == s.Generation && all, fmt.Sprintf("%+v", x)
			})
			b.ReportMetric(time.Since(begin).Seconds(), "s/set")
			b.ReportMetric(float64(len(c.Audit(b, cluster.Filter{Users: []string{account("statefulset-controller")}, Verbs: cluster.Writes, Resources: []string{"statefulsets/status"}, Since: begin}))), "status-writes")
		}
	}
	windlass.InTurn(b, c, "statefulset-controller", with("statefulset-controller"), run)
}
