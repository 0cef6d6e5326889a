package customresources

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var websites = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"}

// definition reads a generated definition.
func definition(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(b, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// The controller of docs/custom-resources.md, with generated types and definition: the API server takes the definition,
// fills in its defaults and holds the objects to it; finalizer, server-side apply, owner references, conditions; and
// what a newer definition has and the types don't is kept.
func TestGenerated(t *testing.T) {
	t.Parallel()
	w := beginWorld(t, "website", "test/docs/customresources/module")
	others, err := filepath.Glob("../../author/generate/testdata/rich/crd/*.yaml")
	if err != nil || len(others) != 2 {
		t.Fatal(others, err)
	}
	for _, file := range others {
		w.must(w.client.Resource(definitions).Create(t.Context(), definition(t, file), metav1.CreateOptions{}))
	}

	d := definition(t, "../docs/customresources/crd/example.com_websites.yaml")
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
	if err := unstructured.SetNestedField(versions[0].(map[string]any), map[string]any{"type": "string"},
		"schema", "openAPIV3Schema", "properties", "spec", "properties", "motto"); err != nil {
		t.Fatal(err)
	}

	if err := unstructured.SetNestedSlice(d.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	w.must(w.client.Resource(definitions).Create(t.Context(), d, metav1.CreateOptions{}))
	site := func(title string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Website",
			"metadata": map[string]any{"name": "hello"},
			"spec":     map[string]any{"title": title, "motto": "more light"}}}
	}

	at := w.client.Resource(websites).Namespace(namespace)
	w.eventually("a website is taken", func() (bool, string) {
		if _, err := at.Create(t.Context(), site(""), metav1.CreateOptions{}); err == nil {
			t.Fatal("a website without a title is taken")
		}
		_, err := at.Create(t.Context(), site("Hello"), metav1.CreateOptions{})
		return err == nil, errorText(err)
	})

	o := w.awaitReady()
	if n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); n != 2 {
		t.Errorf("spec.replicas is %d, not the default", n)
	}

	if s, _, _ := unstructured.NestedString(o.Object, "spec", "motto"); s != "more light" || len(o.GetFinalizers()) != 1 {
		t.Errorf("after the finalizer was added the member that the types don't know is %q, the finalizers %v", s,
			o.GetFinalizers())
	}

	page := w.must(w.client.Resource(configMaps).Namespace(namespace).Get(t.Context(), "hello", metav1.GetOptions{}))
	if c := metav1.GetControllerOf(page); c == nil || c.Kind != "Website" || c.UID != o.GetUID() {
		t.Errorf("the page's owner is %v", page.GetOwnerReferences())
	}

	if m := page.GetManagedFields(); len(m) != 1 || m[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("the page's managers: %v", m)
	}
	w.patchObject(configMaps, "hello", map[string]any{"data": map[string]any{"robots.txt": "Disallow: /"}})
	w.patchObject(websites, "hello", map[string]any{"spec": map[string]any{"title": "Goodbye"}})
	w.eventually("the page follows, and keeps what is another's", func() (bool, string) {
		page = w.must(w.client.Resource(configMaps).Namespace(namespace).Get(t.Context(), "hello", metav1.GetOptions{}))
		data, _, _ := unstructured.NestedStringMap(page.Object, "data")
		return data["index.html"] == "<h1>Goodbye</h1>" && data["robots.txt"] != "", data["index.html"]
	})
	if err := at.Delete(t.Context(), "hello", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	w.eventually("the website and its page are gone", func() (bool, string) {
		_, one := at.Get(t.Context(), "hello", metav1.GetOptions{})
		_, other := w.client.Resource(configMaps).Namespace(namespace).Get(t.Context(), "hello", metav1.GetOptions{})
		return one != nil && other != nil, errorText(one) + errorText(other)
	})
}

// awaitReady waits until the website's status says that it is served as it is wanted now.
func (w *world) awaitReady() (o *unstructured.Unstructured) {
	w.t.Helper()
	w.eventually("the website is ready", func() (bool, string) {
		o = w.must(w.client.Resource(websites).Namespace(namespace).Get(w.t.Context(), "hello", metav1.GetOptions{}))
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if len(list) != 1 {
			return false, "no condition"
		}
		c := list[0].(map[string]any)
		return c["type"] == "Ready" && c["status"] == "True" && c["observedGeneration"] == o.GetGeneration(),
			c["reason"].(string)
	})
	return o
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
