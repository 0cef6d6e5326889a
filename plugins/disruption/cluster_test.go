package disruption

import (
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

// Of forty pods of which ten have to stay, thirty are evicted and no more, though all are wanted gone at once and again
// and again, while the budget's status is written for each that goes.
func TestOnClusterEvictions(t *testing.T) {
	const pods, stay = 40, 10
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "disruption-controller"}})
	ctx, client := t.Context(), c.Client()
	budgets, running := client.PolicyV1().PodDisruptionBudgets("default"), client.CoreV1().Pods("default")
	cluster.Eventually(t, cluster.Patience, "service account default", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})

	least := intstr.FromInt32(stay)
	_, err := budgets.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		_, err := running.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}

	status := func(allowed, healthy int32) {
		t.Helper()
		what := fmt.Sprintf("%d may go of %d", allowed, healthy)
		cluster.Eventually(t, cluster.Patience, what, func() (bool, string) {
			b, err := budgets.Get(ctx, "web", metav1.GetOptions{})
			return err == nil && b.Status.DisruptionsAllowed == allowed && b.Status.CurrentHealthy == healthy &&
				len(b.Status.DisruptedPods) == 0, fmt.Sprintf("%v %+v", err, b.Status)
		})
	}
	status(pods-stay, pods)

	var evicted atomic.Int32
	evictAll := func() {
		workqueue.ParallelizeUntil(ctx, 8, pods, func(i int) {
			err := client.PolicyV1().Evictions("default").Evict(ctx,
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("web-", i)}})
			switch {
			case err == nil:
				evicted.Add(1)
			case !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
				t.Error(err)
			}
		})
	}
	cluster.Eventually(t, cluster.Patience, "all evictions that are allowed", func() (bool, string) {
		evictAll()
		l, err := running.List(ctx, metav1.ListOptions{})
		return t.Failed() || err == nil && len(l.Items) <= stay, fmt.Sprintf("%v, %d evicted", err, evicted.Load())
	})

	status(0, stay)
	evictAll()
	l, err := running.List(ctx, metav1.ListOptions{})
	if err != nil || len(l.Items) != stay {
		t.Errorf("%d pods are left, want %d; error %v", len(l.Items), stay, err)
	}
}
