package nodeipam_test

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const controller = "node-ipam-controller"

// Nodes that come at once get ranges of both families, no two the same, also where the manager is killed meanwhile and
// another one goes on. Ranges that nodes have had are others' only after the nodes have gone.
func TestOnClusterRanges(t *testing.T) {
	count := workload.Size(60, 2000)
	c := cluster.Start(t, cluster.Options{Audit: true})
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	spawn := func() *windlass.Process {
		return windlass.SpawnWith(t, c, `plugins: [{name: nodeipam, settings: {allocate-node-cidrs: "true", `+
			`cluster-cidr: "10.32.0.0/11,fd00:10:32::/48", service-cluster-ip-range: "10.32.4.0/22,fd00:10:32:2::/112"}}]`+"\n",
			controller)
	}

	m := spawn()
	create(t, client, "first", count)
	cluster.Eventually(t, cluster.Patience, "some nodes have ranges", func() (bool, string) {
		n := given(t, client)
		return n > 0, fmt.Sprint(n)
	})
	m.Kill(t)
	create(t, client, "second", count/2)
	m = spawn()
	awaitAll(t, client, count+count/2)

	m.Kill(t)
	for i := range count / 2 {
		if err := client.CoreV1().Nodes().Delete(t.Context(), fmt.Sprint("first-", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	m = spawn()
	create(t, client, "first", count/2)
	awaitAll(t, client, count+count/2)
	m.Stop(t)

	patches := 0
	for _, e := range c.Audit(t, cluster.Filter{Verbs: []string{"patch"}, Resources: []string{"nodes"}}) {
		if e.Code < 300 {
			patches++
		}
	}
	if patches == 0 || patches > 2*count { // the log lacks answers that nobody was there to take
		t.Errorf("%d patches for %d nodes: each is told at most once", patches, 2*count)
	}
}

// create makes nodes at once.
func create(t *testing.T, client kubernetes.Interface, name string, count int) {
	t.Helper()
	workqueue.ParallelizeUntil(t.Context(), 16, count, func(i int) {
		_, err := client.CoreV1().Nodes().Create(t.Context(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, "-", i)}}, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// given returns how many nodes have ranges. No two may overlap, nor with those of Services.
func given(t *testing.T, client kubernetes.Interface) (n int) {
	t.Helper()
	all, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	services := []netip.Prefix{netip.MustParsePrefix("10.32.4.0/22"), netip.MustParsePrefix("fd00:10:32:2::/112")}
	owner := map[netip.Prefix]string{}
	for _, node := range all.Items {
		if len(node.Spec.PodCIDRs) == 0 {
			continue
		}
		n++
		if len(node.Spec.PodCIDRs) != 2 || node.Spec.PodCIDR != node.Spec.PodCIDRs[0] {
			t.Fatalf("node %s has %q, %q", node.Name, node.Spec.PodCIDR, node.Spec.PodCIDRs)
		}
		for i, bits := range []int{24, 64} {
			r := netip.MustParsePrefix(node.Spec.PodCIDRs[i])
			if r.Bits() != bits || r.Overlaps(services[i]) || owner[r] != "" {
				t.Fatalf("node %s has %v, and so has %q", node.Name, r, owner[r])
			}
			owner[r] = node.Name // of equal size: ranges are the same or don't overlap
		}
	}
	return n
}

func awaitAll(t *testing.T, client kubernetes.Interface, count int) {
	t.Helper()
	cluster.Eventually(t, 3*cluster.Patience, "all nodes have ranges", func() (bool, string) {
		n := given(t, client)
		return n == count, fmt.Sprintf("%d of %d", n, count)
	})
}
