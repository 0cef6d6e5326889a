package awkward

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// bases returns an object of each kind that a plugin's golden cases have, as a person would write it: without what
// tells of its life.
func bases(t *testing.T, plugin string) (all []*unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "plugins", plugin, "testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("plugin %s has no golden cases: %v", plugin, err)
	}

	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			var x struct{ Objects []map[string]any }
			if err != nil || yaml.Unmarshal(doc, &x) != nil {
				continue // not a case: what wakes whom
			}
			for _, content := range x.Objects {
				o := &unstructured.Unstructured{Object: content}
				if kind := o.GetAPIVersion() + "/" + o.GetKind(); !seen[kind] && strings.Count(kind, "/") < 3 {
					seen[kind] = true
					all = append(all, asWritten(o))
				}
			}
		}
	}
	return all
}

// asWritten takes out of an object what the API server and controllers put there.
func asWritten(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, path := range [][]string{
		{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"},
		{"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "generation"},
		{"metadata", "ownerReferences"}, {"metadata", "finalizers"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
	} {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	return o
}
