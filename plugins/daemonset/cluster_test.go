package daemonset_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/life"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A roll-out with a surge ends, and keeps its bounds, also where pods have to be ready for a while before they count.
// That is more than the native manager does, beside which the same script is played without that.
func TestOnClusterASurge(t *testing.T) {
	l, err := life.Read("life.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := l.Scripts()
	script := all[slices.IndexFunc(all, func(s *life.Script) bool { return s.Name == "bounds" })]
	sets, watches := 0, 0
	for _, step := range script.Steps {
		if step.Create != nil {
			for _, o := range step.Create.Objects {
				if o["kind"] == "DaemonSet" {
					o["spec"].(map[string]any)["minReadySeconds"] = 1
					sets++
				}
			}
		}
		if step.Watch != nil && step.Watch.App == "surging" {
			step.Watch.Nodes.Twice = 2
			watches++
		}
	}
	if sets != 2 || watches != 1 {
		t.Fatalf("%d DaemonSets, %d watches of the one that surges", sets, watches)
	}

	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "daemonset-controller"}})
	life.NewStage(t, c).Play(t, script, "bounds")
}

// The end of a node is no event of any pod that waits to be bound to it: too large for its node, it stayed pending for
// ever, and the status counted the node.
func TestOnClusterTheEndOfANode(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "daemonset-controller"}})
	ctx, client := t.Context(), c.Client()
	sets, pods := client.AppsV1().DaemonSets("default"), client.CoreV1().Pods("default")
	cluster.Eventually(t, cluster.Patience, "service account default", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})

	labels := map[string]string{"app": "agent"}
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	ds.Spec.Template.Labels = labels
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent",
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000000")},
		}}}
	if _, err := sets.Create(ctx, ds, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pending := func(n int32) {
		t.Helper()
		cluster.Eventually(t, cluster.Patience, fmt.Sprintf("%d pods that no scheduler can bind", n), func() (bool, string) {
			ds, err := sets.Get(ctx, "agent", metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			l, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			told := 0
			for i := range l.Items {
				for _, c := range l.Items[i].Status.Conditions {
					if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
						told++
					}
				}
			}
			return len(l.Items) == int(n) && told == int(n) && ds.Status.DesiredNumberScheduled == n,
				fmt.Sprintf("%d pods, %d unschedulable, %+v", len(l.Items), told, ds.Status)
		})
	}
	pending(2)

	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	if err := client.CoreV1().Nodes().Delete(ctx, nodes.Items[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pending(1)
}
