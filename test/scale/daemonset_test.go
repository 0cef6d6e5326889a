package scale

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

// BenchmarkThousandNodes is the time that a DaemonSet takes to get its pods onto 1,000 nodes, and to replace all of
// them at once, under either manager, both with the same rate of requests. Run it with -benchtime 1x.
func BenchmarkThousandNodes(b *testing.B) {
	const nodes = 1000
	c := cluster.Start(b, cluster.Options{Nodes: nodes, Audit: true})
	client := c.Client()
	// KWOK ends no pod of a node that it has no lease on yet; who has the first turn would wait for it.
	cluster.Eventually(b, 5*time.Minute, "a lease on each node", func() (bool, string) {
		l, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		return len(l.Items) == nodes, fmt.Sprint(len(l.Items), " leases")
	})

	sets := client.AppsV1().DaemonSets(namespace)
	all := intstr.FromString("100%")
	await := func(b *testing.B, name string) {
		cluster.Eventually(b, 5*time.Minute, name+" on all nodes", func() (bool, string) {
			ds, err := sets.Get(b.Context(), name, metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			s := ds.Status
			// Readiness is KWOK's, which forgets a few of so many.
			return s.ObservedGeneration == ds.Generation && s.UpdatedNumberScheduled == nodes, fmt.Sprintf("%+v", s)
		})
	}

	run := func(b *testing.B, name string) {
		windlass.Account(b, client, namespace)
		for b.Loop() {
			begin := time.Now()
			ds := workload.DaemonSet(name)
			ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &all}
			if _, err := sets.Create(b.Context(), ds, metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
			await(b, name)
			b.ReportMetric(time.Since(begin).Seconds(), "s/create")
			begin = time.Now()
			_, err := sets.Patch(b.Context(), name, types.StrategicMergePatchType,
				[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"main:2"}]}}}}`), metav1.PatchOptions{})
			if err != nil {
				b.Fatal(err)
			}
			await(b, name)
			b.ReportMetric(time.Since(begin).Seconds(), "s/roll-out")
			b.ReportMetric(float64(len(c.Audit(b, cluster.Filter{Verbs: cluster.Writes,
				Users: []string{account("daemon-set-controller")}, Resources: []string{"daemonsets/status"}}))), "status-writes")
		}
	}
	windlass.InTurn(b, c, "daemonset-controller", withAccounts("daemonset-controller"), run)
}
