package cluster_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/workload"
)

// What node controllers do is theirs where a test wants it so: nodes have no pod ranges, and the taint that they aren't
// ready stays.
func TestNodesAreLeftToControllers(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 2, NoPodRanges: true, KeepTaints: true})
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	for _, n := range nodes.Items {
		if n.Spec.PodCIDR != "" || len(n.Spec.PodCIDRs) > 0 || len(n.Spec.Taints) != 1 ||
			n.Spec.Taints[0].Key != corev1.TaintNodeNotReady {
			t.Errorf("%s: pod ranges %v, taints %v", n.Name, n.Spec.PodCIDRs, n.Spec.Taints)
		}
	}
}

// A dead kubelet renews no Lease and starts no pod, while another one does both; alive again it starts what waits.
func TestKubeletsDie(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	client := c.Client()
	cluster.Eventually(t, time.Minute, "both Leases", func() (bool, any) {
		return !renewed(t, client, "node-0").IsZero() && !renewed(t, client, "node-1").IsZero(), nil
	})

	annotateNode(t, client, "node-0", `"true"`)
	for range 2 { // whatever was under way is over then
		before := renewed(t, client, "node-1")
		cluster.Eventually(t, time.Minute, "node-1 renews its Lease", func() (bool, any) {
			return renewed(t, client, "node-1").After(before), nil
		})
	}
	dead, before := renewed(t, client, "node-0"), renewed(t, client, "node-1")
	cluster.Eventually(t, time.Minute, "node-1 renews its Lease once more", func() (bool, any) {
		return renewed(t, client, "node-1").After(before), nil
	})
	if now := renewed(t, client, "node-0"); now.After(dead) {
		t.Errorf("the dead node-0 has renewed its Lease at %v, and at %v before", now, dead)
	}

	startPod(t, client, "node-0")
	startPod(t, client, "node-1")
	awaitRunning(t, client, "node-1")
	if p, err := client.CoreV1().Pods("default").Get(t.Context(), "on-node-0", metav1.GetOptions{}); err != nil ||
		p.Status.Phase != corev1.PodPending {
		t.Errorf("the pod of the dead node-0 is %s, %v", p.Status.Phase, err)
	}

	annotateNode(t, client, "node-0", "null")
	awaitRunning(t, client, "node-0")
	cluster.Eventually(t, time.Minute, "node-0 renews its Lease again", func() (bool, any) {
		return renewed(t, client, "node-0").After(dead), nil
	})
}

// As many nodes as a large cluster has: each has pod ranges of its own and no taint, and its kubelet goes on renewing
// its Lease.
func TestManyNodes(t *testing.T) {
	t.Parallel()
	count := workload.Size(50, 5000)
	c := cluster.Start(t, cluster.Options{Nodes: count})
	client := c.Client()
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != count {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}

	ranges := map[string]string{}
	for _, n := range nodes.Items {
		for _, r := range n.Spec.PodCIDRs {
			if other, ok := ranges[r]; ok {
				t.Errorf("%s and %s have the pod range %s", n.Name, other, r)
			}
			ranges[r] = n.Name
		}
		if len(n.Spec.Taints) > 0 {
			t.Errorf("%s has the taints %v", n.Name, n.Spec.Taints)
		}
	}
	if len(ranges) != 2*count { // one of each family
		t.Errorf("%d pod ranges", len(ranges))
	}

	first := map[string]time.Time{}
	cluster.Eventually(t, time.Minute, "each Lease is renewed once more", func() (bool, any) {
		leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		again := 0
		for _, l := range leases.Items {
			switch before, ok := first[l.Name]; {
			case !ok && l.Spec.RenewTime != nil:
				first[l.Name] = l.Spec.RenewTime.Time
			case ok && l.Spec.RenewTime.After(before):
				again++
			}
		}
		return again == count, fmt.Sprintf("%d of %d", again, len(leases.Items))
	})
}

// renewed returns when a node's Lease was renewed last, zero where there is none yet.
func renewed(t *testing.T, client kubernetes.Interface, node string) time.Time {
	t.Helper()
	l, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), node, metav1.GetOptions{})
	if err != nil || l.Spec.RenewTime == nil {
		return time.Time{}
	}
	return l.Spec.RenewTime.Time
}

// annotateNode sets the annotation of dead nodes to a value of JSON.
func annotateNode(t *testing.T, client kubernetes.Interface, node, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, cluster.DeadAnnotation, value)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// startPod makes a pod that is bound to a node.
func startPod(t *testing.T, client kubernetes.Interface, node string) {
	t.Helper()
	no := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "on-" + node}, Spec: corev1.PodSpec{NodeName: node,
		AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
	accounts := client.CoreV1().ServiceAccounts("default")
	_, _ = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		metav1.CreateOptions{})
	cluster.Eventually(t, time.Minute, "the pod to be admitted", func() (bool, any) {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		return err == nil, err
	})
}

func awaitRunning(t *testing.T, client kubernetes.Interface, node string) {
	t.Helper()
	cluster.Eventually(t, time.Minute, "the pod on "+node+" runs", func() (bool, any) {
		p, err := client.CoreV1().Pods("default").Get(t.Context(), "on-"+node, metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
}
