package replicaset

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// A set's life on a real API server, as the upstream service account with the bootstrap role alone: adoption, release,
// a quota that is in the way, and a way out of it.
func TestOnCluster(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "replicaset-controller"}})
	ctx, client := t.Context(), c.Client()
	pods, sets, quotas := client.CoreV1().Pods("default"), client.AppsV1().ReplicaSets("default"),
		client.CoreV1().ResourceQuotas("default")
	cluster.Eventually(t, time.Minute, "service account default", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	status := func(what string, holds func(*appsv1.ReplicaSet) bool) (rs *appsv1.ReplicaSet) {
		t.Helper()
		cluster.Eventually(t, time.Minute, what, func() (bool, string) {
			var err error
			rs, err = sets.Get(ctx, "web", metav1.GetOptions{})
			return err == nil && rs.Status.ObservedGeneration == rs.Generation && holds(rs),
				fmt.Sprintf("%v %+v", err, rs.Status)
		})
		return rs
	}
	ready := func(n int32) func(*appsv1.ReplicaSet) bool {
		return func(rs *appsv1.ReplicaSet) bool {
			s := rs.Status
			return s.Replicas == n && s.ReadyReplicas == n && s.AvailableReplicas == n && s.FullyLabeledReplicas == n &&
				len(s.Conditions) == 0
		}
	}
	labels := map[string]string{"app": "web"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}
	patch := func(replicas int) {
		t.Helper()
		must(sets.Patch(ctx, "web", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas),
			metav1.PatchOptions{}))
	}

	must(pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Labels: labels}, Spec: spec},
		metav1.CreateOptions{}))
	three := int32(3)
	must(sets.Create(ctx, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &three, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}},
		metav1.CreateOptions{}))
	rs := status("three ready pods", ready(3))
	stray, err := pods.Get(ctx, "stray", metav1.GetOptions{})
	if must(nil, err); !metav1.IsControlledBy(stray, rs) {
		t.Errorf("the stray pod was not adopted: %v", stray.OwnerReferences)
	}
	if l, err := pods.List(ctx, metav1.ListOptions{}); err != nil || len(l.Items) != 3 {
		t.Errorf("there are %d pods, error %v", len(l.Items), err)
	}

	must(pods.Patch(ctx, "stray", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"debug"}}}`),
		metav1.PatchOptions{}))
	cluster.Eventually(t, time.Minute, "release of the pod that no longer matches", func() (bool, string) {
		p, err := pods.Get(ctx, "stray", metav1.GetOptions{})
		return err == nil && len(p.OwnerReferences) == 0, fmt.Sprintf("%v %v", err, p.OwnerReferences)
	})
	status("a pod in its place", ready(3))

	five := corev1.ResourceList{"pods": resource.MustParse("5")}
	q, err := quotas.Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "five"},
		Spec: corev1.ResourceQuotaSpec{Hard: five}}, metav1.CreateOptions{})
	must(nil, err)
	// no quota controller runs here
	q.Status = corev1.ResourceQuotaStatus{Hard: five, Used: corev1.ResourceList{"pods": resource.MustParse("4")}}
	must(quotas.UpdateStatus(ctx, q, metav1.UpdateOptions{}))
	patch(8)
	status("condition ReplicaFailure", func(rs *appsv1.ReplicaSet) bool {
		return slices.ContainsFunc(rs.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
			return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason == "FailedCreate" &&
				!c.LastTransitionTime.IsZero()
		})
	})
	cluster.Eventually(t, time.Minute, "event FailedCreate", func() (bool, string) {
		l, err := client.CoreV1().Events("default").List(ctx,
			metav1.ListOptions{FieldSelector: "reason=FailedCreate,involvedObject.name=web,source=replicaset-controller"})
		return err == nil && len(l.Items) > 0, fmt.Sprint(err)
	})
	must(nil, quotas.Delete(ctx, "five", metav1.DeleteOptions{}))
	status("eight ready pods and no condition", ready(8))

	patch(2)
	status("two ready pods, none terminating", func(rs *appsv1.ReplicaSet) bool {
		return ready(2)(rs) && rs.Status.TerminatingReplicas != nil && *rs.Status.TerminatingReplicas == 0
	})
}
