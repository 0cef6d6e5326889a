package disruption

import (
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	windlass.Start(t, c, windlass.Options{Controllers: []string{"serviceaccount-controller", "disruption-controller"}})
	cluster.Eventually(t, cluster.Patience, "service account default", func() (bool, string) {
		_, err := c.Client().CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return c
}

func createPod(t *testing.T, c *cluster.Cluster, m metav1.ObjectMeta) {
	t.Helper()
	m.Labels = map[string]string{"app": "web"}
	_, err := c.Client().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: m,
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func createBudget(t *testing.T, c *cluster.Cluster, spec policyv1.PodDisruptionBudgetSpec) {
	t.Helper()
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	_, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Create(t.Context(),
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func awaitStatus(t *testing.T, c *cluster.Cluster, what string, holds func(*policyv1.PodDisruptionBudgetStatus) bool) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, what, func() (bool, string) {
		b, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && holds(&b.Status), fmt.Sprintf("%v %+v", err, b.Status)
	})
}

// Of forty pods of which ten have to stay, thirty are evicted and no more, though all are wanted gone at once and again
// and again, while the budget's status is written for each that goes.
func TestOnClusterEvictions(t *testing.T) {
	const pods, stay = 40, 10
	c := start(t)
	least := intstr.FromInt32(stay)
	createBudget(t, c, policyv1.PodDisruptionBudgetSpec{MinAvailable: &least})
	for i := range pods {
		createPod(t, c, metav1.ObjectMeta{Name: fmt.Sprint("web-", i)})
	}
	awaitStatus(t, c, "thirty may go", func(s *policyv1.PodDisruptionBudgetStatus) bool {
		return s.DisruptionsAllowed == pods-stay && s.CurrentHealthy == pods
	})

	ctx, client := t.Context(), c.Client()
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
	left := func() (int, error) {
		l, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return len(l.Items), err
	}
	cluster.Eventually(t, cluster.Patience, "all evictions that are allowed", func() (bool, string) {
		evictAll()
		n, err := left()
		return t.Failed() || err == nil && n <= stay, fmt.Sprintf("%v, %d evicted", err, evicted.Load())
	})

	awaitStatus(t, c, "none may go", func(s *policyv1.PodDisruptionBudgetStatus) bool {
		return s.DisruptionsAllowed == 0 && s.CurrentHealthy == stay && len(s.DisruptedPods) == 0
	})
	evictAll()
	if n, err := left(); err != nil || n != stay {
		t.Errorf("%d pods are left, want %d; error %v", n, stay, err)
	}
}

const crews = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crews.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crews, singular: crew, kind: Crew, listKind: CrewList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
`

// How many pods of a custom resource there should be is asked of its scale; when it is gone, none may go.
func TestOnClusterCustomResource(t *testing.T) {
	c := start(t)
	c.Apply(t, []byte(crews))
	client, err := dynamic.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	all := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crews"}).
		Namespace("default")
	var crew *unstructured.Unstructured
	cluster.Eventually(t, cluster.Patience, "crews are served", func() (bool, string) {
		crew, err = all.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Crew", "metadata": map[string]any{"name": "crew"},
			"spec": map[string]any{"size": int64(4)},
		}}, metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})

	most := intstr.FromString("50%")
	createBudget(t, c, policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most})
	yes := true
	create := func(name string) {
		createPod(t, c, metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "example.com/v1", Kind: "Crew", Name: "crew", UID: crew.GetUID(), Controller: &yes}}})
	}
	for i := range 3 {
		create(fmt.Sprint("web-", i))
	}
	awaitStatus(t, c, "one of three may go, for there should be four", func(s *policyv1.PodDisruptionBudgetStatus) bool {
		return s.ExpectedPods == 4 && s.CurrentHealthy == 3 && s.DesiredHealthy == 2 && s.DisruptionsAllowed == 1
	})

	if err := all.Delete(t.Context(), "crew", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	create("web-3") // nobody heeds the crew itself
	awaitStatus(t, c, "none may go", func(s *policyv1.PodDisruptionBudgetStatus) bool {
		return s.DisruptionsAllowed == 0 && s.Conditions[0].Reason == policyv1.SyncFailedReason &&
			s.Conditions[0].Message == `found no controllers for pod "web-0"`
	})
}
