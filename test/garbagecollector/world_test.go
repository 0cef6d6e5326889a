package garbagecollector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	roles      = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

var kinds = map[schema.GroupVersionResource]string{configMaps: "ConfigMap", namespaces: "Namespace", roles: "ClusterRole", widgets: "Widget"}

// world is a namespace, and another one beside it, with objects that own each other.
type world struct {
	t         *testing.T
	c         *cluster.Cluster
	client    dynamic.Interface
	namespace string
}

func newWorld(t *testing.T, c *cluster.Cluster, namespace string) *world {
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, c, client, namespace}
	for _, name := range []string{namespace, namespace + "-b"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
		w.must(client.Resource(namespaces).Create(t.Context(), o, metav1.CreateOptions{}))
	}
	return w
}

func (w *world) must(o *unstructured.Unstructured, err error) *unstructured.Unstructured {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// where splits "b/name", an object in the other namespace, and "/name", one in none.
func (w *world) where(r schema.GroupVersionResource, name string) (dynamic.ResourceInterface, string) {
	switch {
	case r == roles:
		return w.client.Resource(r), w.namespace + "-" + name
	case strings.HasPrefix(name, "b/"):
		return w.client.Resource(r).Namespace(w.namespace + "-b"), name[2:]
	}
	return w.client.Resource(r).Namespace(w.namespace), name
}

func (w *world) create(r schema.GroupVersionResource, name string, owners ...map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	to, name := w.where(r, name)
	refs := make([]any, len(owners))
	for i := range owners {
		refs[i] = owners[i]
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": r.GroupVersion().String(), "kind": kinds[r], "metadata": map[string]any{"name": name, "ownerReferences": refs}}}
	var made *unstructured.Unstructured
	windlass.Eventually(w.t, 30*time.Second, "create "+name, func() (bool, string) { // a custom resource isn't served at once
		var err error
		made, err = to.Create(w.t.Context(), o, metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return made
}

func (w *world) config(name string, owners ...map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	return w.create(configMaps, name, owners...)
}

func (w *world) finalize(r schema.GroupVersionResource, name string, finalizers ...string) {
	w.t.Helper()
	in, name := w.where(r, name)
	body := `{"metadata":{"finalizers":null}}`
	if len(finalizers) > 0 {
		body = `{"metadata":{"finalizers":["` + strings.Join(finalizers, `","`) + `"]}}`
	}
	w.must(in.Patch(w.t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}))
}

func (w *world) delete(r schema.GroupVersionResource, name string, policy metav1.DeletionPropagation) {
	w.t.Helper()
	in, name := w.where(r, name)
	if err := in.Delete(w.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		w.t.Fatal(err)
	}
}

// ref is a reference to an owner; block has it wait for this dependent when it is deleted in the foreground.
func ref(o *unstructured.Unstructured, block bool) map[string]any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "blockOwnerDeletion": block}
}

func with(ref map[string]any, field, value string) map[string]any {
	ref[field] = value
	return ref
}

// look gives what there is: each object with what it waits for and who owns it.
func (w *world) look(resources ...schema.GroupVersionResource) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, r := range resources {
		for _, ns := range []string{w.namespace, w.namespace + "-b", ""} {
			if (r == roles) != (ns == "") {
				continue
			}
			l, err := w.client.Resource(r).Namespace(ns).List(w.t.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				w.t.Fatal(err)
			}
			for i := range l.Items {
				o := &l.Items[i]
				if r == configMaps && o.GetName() == "kube-root-ca.crt" || r == roles && !strings.HasPrefix(o.GetName(), w.namespace+"-") {
					continue
				}
				s := ""
				if o.GetDeletionTimestamp() != nil {
					s += "deleting "
				}
				for _, f := range o.GetFinalizers() {
					s += f + " "
				}
				for _, ref := range o.GetOwnerReferences() {
					s += "<" + ref.Kind + " " + strings.TrimPrefix(ref.Name, w.namespace+"-")
					if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
						s += " blocked"
					}
					s += ">"
				}
				name := strings.TrimPrefix(o.GetName(), w.namespace+"-")
				if strings.HasSuffix(ns, "-b") {
					name = "b/" + name
				}
				all[kinds[r]+" "+name] = strings.TrimSpace(s)
			}
		}
	}
	return all
}

// become waits until the named objects, and no others of these resources, are there.
func (w *world) become(what string, resources []schema.GroupVersionResource, names ...string) {
	w.t.Helper()
	slices.Sort(names)
	windlass.Eventually(w.t, time.Minute, what, func() (bool, string) {
		var got []string
		for name := range w.look(resources...) {
			got = append(got, name)
		}
		slices.Sort(got)
		return slices.Equal(got, names), fmt.Sprintf("there is %v, expected %v", got, names)
	})
}

// define makes the custom resource, with or without a conversion webhook that nobody answers.
func (w *world) define(ctx context.Context) {
	w.t.Helper()
	w.must(w.client.Resource(crds).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{version("v1", true)},
		},
	}}, metav1.CreateOptions{}))
}

func version(name string, storage bool) map[string]any {
	return map[string]any{"name": name, "served": true, "storage": storage,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
}
