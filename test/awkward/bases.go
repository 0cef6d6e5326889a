package awkward

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// bases returns the objects of each kind that a plugin's golden cases have, those of which most is said first, as a
// person would write them: without what tells of their lives. They are in the order of their kinds.
func bases(t testing.TB, plugins, plugin string) (all [][]*unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(plugins, plugin, "testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("plugin %s has no golden cases: %v", plugin, err)
	}

	kinds := map[string][]*unstructured.Unstructured{}
	said := map[*unstructured.Unstructured]int{}
	for _, file := range files {
		for _, o := range objectsOf(t, file) {
			text, err := json.Marshal(asWritten(o))
			if err != nil {
				t.Fatal(err)
			}
			kind := o.GroupVersionKind().String()
			kinds[kind], said[o] = append(kinds[kind], o), len(text)
		}
	}

	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		slices.SortStableFunc(kinds[kind], func(a, b *unstructured.Unstructured) int { return said[b] - said[a] })
		all = append(all, kinds[kind])
	}
	return all
}

// objectsOf returns the objects of a file's golden cases, and of what these have in common.
func objectsOf(t testing.TB, file string) (all []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var golden struct{ Base, Objects []map[string]any }
		if yaml.Unmarshal(document, &golden) != nil {
			continue // not a case: what wakes whom
		}
		for _, content := range slices.Concat(golden.Base, golden.Objects) {
			all = append(all, &unstructured.Unstructured{Object: content})
		}
	}
}

// asWritten takes out of an object what the API server and controllers put there.
func asWritten(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, path := range [][]string{
		{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"},
		{"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "generation"},
		{"metadata", "ownerReferences"}, {"metadata", "finalizers"}, {"metadata", "generateName"},
		{"metadata", "managedFields"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
	} {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	return o
}
