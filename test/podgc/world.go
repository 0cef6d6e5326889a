// Package podgc checks on a real cluster that Windlass deletes the pods that the native kube-controller-manager deletes.
package podgc

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	account   = "system:serviceaccount:kube-system:pod-garbage-collector"
	finalizer = "example.com/keep" // keeps a pod that has been deleted, for the test to look at
	away      = "away"             // a node whose kubelet KWOK doesn't play
)

// world is one namespace of a cluster.
type world struct {
	testing.TB
	client    kubernetes.Interface
	namespace string
}

// newWorld makes a namespace in which there can be pods.
func newWorld(t testing.TB, c *cluster.Cluster, namespace string) *world {
	t.Helper()
	w := &world{t, c.Client(), namespace}
	_, err := w.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pod makes a pod that runs on a node; without a node nobody schedules it.
func (w *world) pod(name, node string, finalizers ...string) {
	w.Helper()
	w.create(name, node, finalizers...)
	if node != "" {
		w.eventually(name+" runs", func(all map[string]seen) bool { return all[name].Phase == corev1.PodRunning })
	}
}

func (w *world) create(name, node string, finalizers ...string) {
	w.Helper()
	_, err := w.client.CoreV1().Pods(w.namespace).Create(w.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
	}, metav1.CreateOptions{})
	w.must(err)
}

// end writes the status of a pod that has ended.
func (w *world) end(name string, phase corev1.PodPhase, reason string) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": phase, "reason": reason}})
	w.must(err)
	_, err = w.client.CoreV1().Pods(w.namespace).Patch(w.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	w.must(err)
}

func (w *world) delete(names ...string) {
	w.Helper()
	for _, name := range names {
		w.must(w.client.CoreV1().Pods(w.namespace).Delete(w.Context(), name, metav1.DeleteOptions{}))
	}
}

func (w *world) node(name string, taints ...corev1.Taint) {
	w.Helper()
	_, err := w.client.CoreV1().Nodes().Create(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) deleteNode(name string) {
	w.Helper()
	w.must(w.client.CoreV1().Nodes().Delete(w.Context(), name, metav1.DeleteOptions{}))
}

// seen is what the controller may have done to a pod.
type seen struct {
	Phase     corev1.PodPhase
	Deleting  bool
	Grace     int64
	Observed  bool // the status tells of which generation it is
	Disrupted corev1.PodCondition
}

// look gives the pods of the namespace by name.
func (w *world) look() map[string]seen {
	w.Helper()
	l, err := w.client.CoreV1().Pods(w.namespace).List(w.Context(), metav1.ListOptions{})
	w.must(err)
	all := map[string]seen{}
	for _, p := range l.Items {
		s := seen{Phase: p.Status.Phase, Deleting: p.DeletionTimestamp != nil, Observed: p.Status.ObservedGeneration > 0}
		if p.DeletionGracePeriodSeconds != nil {
			s.Grace = *p.DeletionGracePeriodSeconds
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.DisruptionTarget {
				c.LastTransitionTime = metav1.Time{}
				s.Disrupted = c
			}
		}
		all[p.Name] = s
	}
	return all
}

func (w *world) eventually(what string, ok func(map[string]seen) bool) {
	w.Helper()
	windlass.Eventually(w, 90*time.Second, w.namespace+": "+what, func() (bool, string) {
		all := w.look()
		return ok(all), fmt.Sprintf("%+v", all)
	})
}

// names waits until these pods are left, no others.
func (w *world) names(what string, names ...string) {
	w.Helper()
	w.eventually(what, func(all map[string]seen) bool {
		for _, n := range names {
			if _, ok := all[n]; !ok {
				return false
			}
		}
		return len(all) == len(names)
	})
}

// release lets the pods go that only the finalizer keeps.
func (w *world) release() {
	w.Helper()
	for name := range w.look() {
		_, err := w.client.CoreV1().Pods(w.namespace).Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			w.must(err)
		}
	}
}

// silence keeps KWOK, which plays the kubelets, from telling that the node is ready.
func silence(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	c.Restrain(t, "silence", admissionv1.Update, "nodes/status", `object.metadata.name != "`+away+`"`)
	kwok := c.Kwok()
	w := &world{TB: t, client: c.Client()}
	w.node(away, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
	windlass.Eventually(t, time.Minute, "KWOK is kept from the node's status", func() (bool, string) {
		_, err := kwok.CoreV1().Nodes().Patch(t.Context(), away, types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), fmt.Sprint(err)
	})
	_, err := w.client.CoreV1().Nodes().Patch(t.Context(), away, types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`), metav1.PatchOptions{}, "status")
	w.must(err)
}
