package differential

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v2" // what sigs.k8s.io/yaml writes with, without its way over JSON, which took a sixth of the time
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"
)

// text prints the fields of an object in its resource's version.
func text(v runtime.Object) string { return printObject(v, "", func(map[string]any) {}) }

// texts are those that were made last. To make one takes longer than to make what it is found by, both controllers
// write the same objects, and most stay as they are from step to step.
var texts = struct {
	sync.Mutex
	known map[string]string
}{known: map[string]string{}}

// textsMost bounds texts, which are of some 4 KB each with what they are found by.
const textsMost = 4000

// kept returns a text that was made for the same key, or makes it. A key's beginning says what its text is of.
func kept(key string, make func() (string, error)) (string, error) {
	texts.Lock()
	defer texts.Unlock()
	if known, ok := texts.known[key]; ok {
		return known, nil
	}

	text, err := make()
	if err != nil {
		return "", err
	}
	if len(texts.known) >= textsMost {
		clear(texts.known)
	}
	texts.known[key] = text
	return text, nil
}

// YAML prints plain data, such as a part of an object.
func YAML(v any) (string, error) {
	j, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return kept("data "+string(j), func() (string, error) {
		y, err := sigsyaml.JSONToYAML(j)
		return string(y), err
	})
}

// printObject prints the fields of an object after a change. Changes that aren't the same have another as.
func printObject(v runtime.Object, as string, change func(map[string]any)) string {
	print := func() (string, error) {
		m, err := fields(v)
		if err != nil {
			return "", err
		}
		change(m)
		b, err := yaml.Marshal(m)
		return string(b), err
	}

	key, err := textKey(v, as)
	if err != nil {
		return err.Error()
	}
	text := ""
	if key == "" {
		text, err = print()
	} else {
		text, err = kept(key, print)
	}
	if err != nil {
		return err.Error()
	}
	return text
}

// textKey returns what a text is found by, "" if it isn't kept.
func textKey(v runtime.Object, as string) (string, error) {
	v = v.DeepCopyObject()
	m, named := v.(metav1.Object)
	coded, ok := v.(interface{ Marshal() ([]byte, error) })
	if !named || !ok {
		return "", nil
	}
	m.SetResourceVersion("") // which no text has
	m.SetManagedFields(nil)
	b, err := coded.Marshal()
	return fmt.Sprintf("%T %s %s", v, as, b), err
}

// oneLine returns an error's text as one line, as rules of known.yaml expect it: a refusal of a pod has many.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// set is a list that has no order by the API (x-kubernetes-list-type), so that two in another order are the same.
type set struct {
	path []string
	by   string // the field that tells its elements apart; "": they are strings
}

// setsOf are the sets that upstream's controllers fill in the order of a map or of their caches, by the type of object.
var setsOf = map[reflect.Type][]set{
	reflect.TypeFor[*corev1.Pod](): {{[]string{"spec", "volumes"}, "name"}},
	reflect.TypeFor[*batchv1.Job](): {
		{[]string{"status", "uncountedTerminatedPods", "failed"}, ""},
		{[]string{"status", "uncountedTerminatedPods", "succeeded"}, ""},
	},
}

// sort puts the set of an object in order.
func (s *set) sort(fields map[string]any) error {
	list, _, err := unstructured.NestedFieldNoCopy(fields, s.path...)
	if err != nil {
		return err
	}
	all, _ := list.([]any)
	name := func(v any) string {
		if m, ok := v.(map[string]any); ok {
			v = m[s.by]
		}
		return fmt.Sprint(v)
	}
	slices.SortStableFunc(all, func(a, b any) int { return strings.Compare(name(a), name(b)) })
	return nil
}

// fields are those of an object in its resource's version, without those that only the server sets; its sets are in
// order.
func fields(v runtime.Object) (map[string]any, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v)
	if err != nil {
		return nil, err
	}
	delete(m, "kind")
	delete(m, "apiVersion")
	for _, s := range setsOf[reflect.TypeOf(v)] {
		if err := s.sort(m); err != nil {
			return nil, err
		}
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			delete(meta, name)
		}
	}
	return m, nil
}
