// Package statefulsets shows on a cluster what the StatefulSet controller promises about order.
package statefulsets

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
	"github.com/windlass-dev/windlass/test/workload"
)

const (
	namespace = "default"
	account   = "system:serviceaccount:kube-system:statefulset-controller"
)

var controllers = []string{"serviceaccount-controller", "statefulset-controller"}

// world is a cluster with a client.
type world struct {
	*testing.T
	c      *cluster.Cluster
	client kubernetes.Interface
}

func newWorld(t *testing.T, o cluster.Options) *world {
	c := cluster.Start(t, o)
	return &world{T: t, c: c, client: c.Client()}
}

// start runs Windlass, as the upstream service accounts with the bootstrap roles alone.
func (w *world) start() *windlass.Manager {
	w.Helper()
	m := windlass.Start(w.T, w.c, windlass.Options{Controllers: controllers})
	windlass.Account(w, w.client, namespace)
	return m
}

func (w *world) eventually(what string, condition func() (bool, string)) {
	w.Helper()
	windlass.Eventually(w.T, 90*time.Second, what, condition)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// set is a StatefulSet as a user would write it.
func set(name string, replicas int32, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1", Args: []string{"<a>&b"}}}}},
		},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

func (w *world) create(s *appsv1.StatefulSet) {
	w.Helper()
	_, err := w.client.AppsV1().StatefulSets(namespace).Create(w.Context(), s, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) patch(name, format string, a ...any) {
	w.Helper()
	_, err := w.client.AppsV1().StatefulSets(namespace).Patch(w.Context(), name, types.MergePatchType, fmt.Appendf(nil, format, a...), metav1.PatchOptions{})
	w.must(err)
}

func (w *world) image(name, image string) {
	w.Helper()
	w.patch(name, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q,"args":["<a>&b"]}]}}}}`, image)
}

func (w *world) get(name string) (*appsv1.StatefulSet, error) {
	return w.client.AppsV1().StatefulSets(namespace).Get(w.Context(), name, metav1.GetOptions{})
}

// await waits until the set's status, which is of its present spec, satisfies the condition.
func (w *world) await(name, what string, holds func(*appsv1.StatefulSet) bool) {
	w.Helper()
	w.eventually(name+": "+what, func() (bool, string) {
		s, err := w.get(name)
		return err == nil && s.Status.ObservedGeneration == s.Generation && holds(s), fmt.Sprintf("%v %+v", err, s.Status)
	})
}

// rolled tells that all n pods are of the current template and ready.
func rolled(n int32) func(*appsv1.StatefulSet) bool {
	return func(s *appsv1.StatefulSet) bool {
		x := s.Status
		return x.Replicas == n && x.ReadyReplicas == n && x.AvailableReplicas == n && x.UpdatedReplicas == n && x.CurrentReplicas == n && x.CurrentRevision == x.UpdateRevision
	}
}

// images are the pods' by name.
func (w *world) images(app string) map[string]string {
	l, err := w.client.CoreV1().Pods(namespace).List(w.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	w.must(err)
	m := map[string]string{}
	for _, p := range l.Items {
		m[p.Name] = p.Spec.Containers[0].Image
	}
	return m
}

// watch keeps a diary of an app's pods.
func (w *world) watch(app string, ordered bool) *workload.Diary {
	w.Helper()
	return workload.Watch(w, w.client, namespace, app, ordered)
}

// writes are those that the StatefulSet controller made since.
func (w *world) writes(since time.Time) []cluster.Event {
	return w.c.Audit(w.T, cluster.Filter{Verbs: cluster.Writes, Users: []string{account}, Since: since})
}

// settle waits until the controller has written nothing for a while.
func (w *world) settle() {
	w.Helper()
	windlass.Settle(w, 3*time.Second, w.writes)
}
