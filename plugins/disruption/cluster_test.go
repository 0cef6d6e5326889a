package disruption

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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
	"github.com/windlass-dev/windlass/test/workload"
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

func createPod(t *testing.T, c *cluster.Cluster, app string, m metav1.ObjectMeta) {
	t.Helper()
	m.Labels = map[string]string{"app": app}
	_, err := c.Client().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: m,
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func createBudget(t *testing.T, c *cluster.Cluster, app string, spec policyv1.PodDisruptionBudgetSpec) {
	t.Helper()
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	_, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Create(t.Context(),
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func awaitStatus(t *testing.T, c *cluster.Cluster, app, what string,
	holds func(*policyv1.PodDisruptionBudgetStatus) bool) {
	t.Helper()
	cluster.Eventually(t, cluster.Patience, app+": "+what, func() (bool, string) {
		b, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), app, metav1.GetOptions{})
		return err == nil && holds(&b.Status), fmt.Sprintf("%v %+v", err, b.Status)
	})
}

// Of the pods of each kind of budget as many are evicted as may be and no more, though all are wanted gone at once and
// again and again, while the budget's status is written for each that goes. With FULL=1 there are 200 of each.
func TestOnClusterEvictions(t *testing.T) {
	pods := workload.Size(40, 200)
	stay := pods / 4
	number := func(n int) *intstr.IntOrString { return new(intstr.FromInt(n)) }
	percent := func(s string) *intstr.IntOrString { return new(intstr.FromString(s)) }
	always := policyv1.AlwaysAllow
	kinds := map[string]struct {
		budget policyv1.PodDisruptionBudgetSpec
		stay   int
	}{
		"least":            {policyv1.PodDisruptionBudgetSpec{MinAvailable: number(stay)}, stay},
		"least-in-percent": {policyv1.PodDisruptionBudgetSpec{MinAvailable: percent("25%")}, stay},
		"most":             {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(pods - stay)}, stay},
		"most-in-percent":  {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: percent("75%")}, stay},
		"none":             {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(0)}, pods},
		"unhealthy-go": {policyv1.PodDisruptionBudgetSpec{MinAvailable: number(stay),
			UnhealthyPodEvictionPolicy: &always}, stay},
	}

	c := start(t)
	for app, k := range kinds {
		createBudget(t, c, app, k.budget)
		owner := createReplicaSet(t, c, app, pods)
		for i := range pods {
			createPod(t, c, app, metav1.ObjectMeta{Name: fmt.Sprint(app, "-", i),
				OwnerReferences: []metav1.OwnerReference{owner}})
		}
	}

	for app, k := range kinds {
		awaitStatus(t, c, app, "as many may go as can be spared", func(s *policyv1.PodDisruptionBudgetStatus) bool {
			return int(s.DisruptionsAllowed) == pods-k.stay && int(s.CurrentHealthy) == pods
		})
	}

	apps := slices.Collect(maps.Keys(kinds))
	workqueue.ParallelizeUntil(t.Context(), len(apps), len(apps), func(i int) {
		evictAll(t, c, apps[i], pods, kinds[apps[i]].stay)
	})
	for app, k := range kinds {
		awaitStatus(t, c, app, "none may go", func(s *policyv1.PodDisruptionBudgetStatus) bool {
			return s.DisruptionsAllowed == 0 && int(s.CurrentHealthy) == k.stay && len(s.DisruptedPods) == 0
		})
		evict(t, c, app, pods)
		if n, err := left(t, c, app); err != nil || n != k.stay {
			t.Errorf("%s: %d pods are left, want %d; error %v", app, n, k.stay, err)
		}
	}
}

// createReplicaSet makes the ReplicaSet whose scale says how many pods there should be. Nobody cares for it.
func createReplicaSet(t *testing.T, c *cluster.Cluster, app string, pods int) metav1.OwnerReference {
	t.Helper()
	labels := map[string]string{"app": app}
	rs, err := c.Client().AppsV1().ReplicaSets("default").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(pods)),
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
}

// evictAll evicts until no more are left than are to stay.
func evictAll(t *testing.T, c *cluster.Cluster, app string, pods, stay int) {
	for begun := time.Now(); time.Since(begun) < cluster.Patience; {
		evict(t, c, app, pods)
		if n, err := left(t, c, app); err != nil || n <= stay {
			return // what is wrong with that is seen in the end
		}
	}
}

// evict asks eight at a time for each of the pods to go.
func evict(t *testing.T, c *cluster.Cluster, app string, pods int) {
	workqueue.ParallelizeUntil(t.Context(), 8, pods, func(i int) {
		err := c.Client().PolicyV1().Evictions("default").Evict(t.Context(),
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(app, "-", i)}})
		if err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			t.Error(err)
		}
	})
}

func left(t *testing.T, c *cluster.Cluster, app string) (int, error) {
	l, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	return len(l.Items), err
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
	createBudget(t, c, "web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most})
	yes := true
	create := func(name string) {
		createPod(t, c, "web", metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "example.com/v1", Kind: "Crew", Name: "crew", UID: crew.GetUID(), Controller: &yes}}})
	}
	for i := range 3 {
		create(fmt.Sprint("web-", i))
	}
	awaitStatus(t, c, "web", "one of three, for there should be four", func(s *policyv1.PodDisruptionBudgetStatus) bool {
		return s.ExpectedPods == 4 && s.CurrentHealthy == 3 && s.DesiredHealthy == 2 && s.DisruptionsAllowed == 1
	})

	if err := all.Delete(t.Context(), "crew", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	create("web-3") // nobody heeds the crew itself
	awaitStatus(t, c, "web", "none may go", func(s *policyv1.PodDisruptionBudgetStatus) bool {
		return s.DisruptionsAllowed == 0 && s.Conditions[0].Reason == policyv1.SyncFailedReason &&
			s.Conditions[0].Message == `found no controllers for pod "web-0"`
	})
}
