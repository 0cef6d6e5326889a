package scale

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// BenchmarkHundredReplicas is the time that a StatefulSet takes to get 100 pods, one after the other is ready, under
// either manager with the same rate of requests. Run it with -benchtime 1x.
func BenchmarkHundredReplicas(b *testing.B) {
	c := cluster.Start(b, cluster.Options{Nodes: 10, Audit: true})
	sets := c.Client().AppsV1().StatefulSets(namespace)
	w := work{controller: "statefulset-controller", unit: "s/set"}
	w.create = func(name string) error {
		_, err := sets.Create(b.Context(), workload.StatefulSet(name, 100), metav1.CreateOptions{})
		return err
	}
	w.done = func(name string) (bool, string) {
		s, err := sets.Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		x := s.Status
		all := x.Replicas == 100 && x.AvailableReplicas == 100 && x.UpdatedReplicas == 100 && x.CurrentReplicas == 100
		return x.ObservedGeneration == s.Generation && all, fmt.Sprintf("%+v", x)
	}
	w.writes = map[string]cluster.Filter{
		"status-writes": {Verbs: cluster.Writes, Resources: []string{"statefulsets/status"}},
	}
	measureWork(b, c, w)
}
