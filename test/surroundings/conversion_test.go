package surroundings

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/test/cluster"
)

// A custom resource whose conversion fails can't be listed: objects may depend on one another through it that nobody
// sees.
func conversion() surrounding {
	return surrounding{name: "conversion", spares: true, quiet: true, common: true, begin: breakConversion}
}

// breakConversion makes a custom resource with an object that can't be converted to the version that is preferred.
func breakConversion(t *testing.T, w *world) (end func(*testing.T)) {
	t.Helper()
	definitions := w.stage.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	anything := map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
		"x-kubernetes-preserve-unknown-fields": true}}
	version := func(name string, stored bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": stored, "schema": anything}
	}
	const name = "brokens.surroundings.example.com"
	_, err := definitions.Create(w.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{"group": "surroundings.example.com", "scope": "Namespaced",
			"names":    map[string]any{"plural": "brokens", "kind": "Broken", "listKind": "BrokenList", "singular": "broken"},
			"versions": []any{version("v1", true), version("v2", false)}},
	}}, metav1.CreateOptions{})
	must(t, err)

	of := func(version string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "surroundings.example.com", Version: version, Resource: "brokens"}
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "surroundings.example.com/v1",
		"kind": "Broken", "metadata": map[string]any{"name": "broken"}}}
	cluster.Eventually(t, time.Minute, "the custom resource is served", func() (bool, string) {
		_, err := w.stage.Dynamic.Resource(of("v1")).Namespace("default").Create(w.Context(), object, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), fmt.Sprint(err)
	})

	convert := func(t *testing.T, by string) {
		t.Helper()
		_, err := definitions.Patch(w.Context(), name, types.MergePatchType, []byte(`{"spec": {"conversion": `+by+`}}`),
			metav1.PatchOptions{})
		must(t, err)
	}
	convert(t, `{"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
		"clientConfig": {"url": "https://127.0.0.1:1/"}}}`)
	cluster.Eventually(t, time.Minute, "its objects can't be converted", func() (bool, string) {
		_, err := w.stage.Dynamic.Resource(of("v2")).List(w.Context(), metav1.ListOptions{})
		return err != nil, fmt.Sprint(err)
	})
	return func(t *testing.T) { convert(t, `{"strategy": "None", "webhook": null}`) }
}
