// Package namespaces checks on a real cluster that Windlass empties and ends namespaces as the native kube-controller-manager does.
package namespaces

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

const (
	account    = "system:serviceaccount:kube-system:namespace-controller"
	controller = "namespace-controller"
	keep       = "example.com/keep" // a finalizer
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apis        = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	pods        = corev1.SchemeGroupVersion.WithResource("pods")
	configMaps  = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// world is a cluster with clients.
type world struct {
	*testing.T
	c       *cluster.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func newWorld(t *testing.T) *world {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Audit: true})
	return &world{T: t, c: c, client: c.Client(), dynamic: dynamic.NewForConfigOrDie(c.RESTConfig())}
}

func (w *world) start() *windlass.Manager {
	w.Helper()
	return windlass.Start(w.T, w.c, windlass.Options{Controllers: []string{controller}})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) eventually(what string, condition func() (bool, string)) {
	w.Helper()
	windlass.Eventually(w.T, 90*time.Second, what, condition)
}

// object makes an object of a kind of which the test has no type.
func (w *world) object(r schema.GroupVersionResource, kind, namespace, name string, spec map[string]any, finalizers ...string) {
	w.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(r.GroupVersion().WithKind(kind))
	o.SetName(name)
	o.SetFinalizers(finalizers)
	_, err := w.dynamic.Resource(r).Namespace(namespace).Create(w.Context(), o, metav1.CreateOptions{})
	w.must(err)
}

// define makes the API server serve widgets.
func (w *world) define() {
	w.Helper()
	w.object(definitions, "CustomResourceDefinition", "", "widgets.example.com", map[string]any{
		"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
		"versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": open},
			map[string]any{"name": "v1beta1", "served": true, "storage": false, "schema": open},
		},
	})
	w.eventually("widgets are served", func() (bool, string) {
		_, err := w.dynamic.Resource(widgets).List(w.Context(), metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

var open = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}

// namespace makes a namespace with a config map in it.
func (w *world) namespace(name string) {
	w.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.client.CoreV1().ConfigMaps(name).Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	w.must(err)
}

// fill makes all sorts of objects in a namespace: pods that run, one of which a finalizer keeps, and widgets, one of which a finalizer keeps.
func (w *world) fill(namespace string) {
	w.Helper()
	w.namespace(namespace)
	_, err := w.client.CoreV1().ServiceAccounts(namespace).Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	w.must(err)
	labels := map[string]string{"app": "web"}
	spec := corev1.PodSpec{SchedulerName: "nobody", NodeName: "node-0", Containers: []corev1.Container{{Name: "main", Image: "main"}}}
	for i := range 5 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: labels}, Spec: spec}
		if i == 0 {
			p.Finalizers = []string{keep}
		}
		_, err := w.client.CoreV1().Pods(namespace).Create(w.Context(), p, metav1.CreateOptions{})
		w.must(err)
	}
	_, err = w.client.AppsV1().Deployments(namespace).Create(w.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}, metav1.CreateOptions{})
	w.must(err)
	w.object(widgets, "Widget", namespace, "kept", nil, keep)
	w.object(widgets, "Widget", namespace, "free", nil)
	w.eventually(namespace+": pods run", func() (bool, string) {
		l, err := w.client.CoreV1().Pods(namespace).List(w.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		w.must(err)
		return len(l.Items) == 5, fmt.Sprint(len(l.Items), " run")
	})
}

func (w *world) delete(r schema.GroupVersionResource, name string) {
	w.Helper()
	w.must(w.dynamic.Resource(r).Delete(w.Context(), name, metav1.DeleteOptions{}))
}

func (w *world) deleteNamespace(name string) {
	w.Helper()
	w.delete(corev1.SchemeGroupVersion.WithResource("namespaces"), name)
}

// release takes an object's finalizers away.
func (w *world) release(r schema.GroupVersionResource, namespace, name string) {
	w.Helper()
	_, err := w.dynamic.Resource(r).Namespace(namespace).Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	w.must(err)
}

// names are those of the objects of a resource in a namespace.
func (w *world) names(r schema.GroupVersionResource, namespace string) []string {
	w.Helper()
	l, err := w.dynamic.Resource(r).Namespace(namespace).List(w.Context(), metav1.ListOptions{})
	w.must(err)
	names := []string{}
	for _, o := range l.Items {
		names = append(names, o.GetName())
	}
	return names
}

// conditions are a namespace's as a person reads them, in their order; times are told apart only.
func (w *world) conditions(namespace string) []string {
	w.Helper()
	ns, err := w.client.CoreV1().Namespaces().Get(w.Context(), namespace, metav1.GetOptions{})
	w.must(err)
	list := []string{"phase " + string(ns.Status.Phase)}
	for _, c := range ns.Status.Conditions {
		if c.LastTransitionTime.IsZero() {
			w.Errorf("%s: condition %s has no time", namespace, c.Type)
		}
		list = append(list, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return list
}

// says waits until one of the namespace's conditions is this, and gives all.
func (w *world) says(namespace, condition string) (all []string) {
	w.Helper()
	w.eventually(namespace+": "+condition, func() (bool, string) {
		all = w.conditions(namespace)
		for _, c := range all {
			if c == condition {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%q", all)
	})
	return all
}

// ends waits until the namespace is gone, with all that was in it.
func (w *world) ends(namespace string) {
	w.Helper()
	w.eventually(namespace+" is gone", func() (bool, string) {
		ns, err := w.client.CoreV1().Namespaces().Get(context.Background(), namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, ns.Status)
	})
	for _, r := range []schema.GroupVersionResource{pods, configMaps, appsv1.SchemeGroupVersion.WithResource("deployments")} {
		if l := w.names(r, namespace); len(l) > 0 {
			w.Errorf("%s is gone, these %s are not: %v", namespace, r.Resource, l)
		}
	}
}

// deletions are the controller's deletes of collections in a namespace.
func (w *world) deletions(namespace string) []cluster.Event {
	w.Helper()
	return w.c.Audit(w.T, cluster.Filter{Verbs: []string{"deletecollection"}, Users: []string{account}, Namespace: namespace})
}
