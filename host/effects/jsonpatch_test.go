package effects

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/windlass-dev/windlass/host/schema/schematest"
)

func pod(f func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{}
	p.Name, p.Namespace = "p", "default"
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	f(&p)
	return p
}

// What a merge changes is the same as the JSON Patch of it.
func TestPatchEqualsMerge(t *testing.T) {
	res := schematest.Resource(t, "v1/pods")
	a := pod(func(p *corev1.Pod) {
		p.Labels = map[string]string{"x/y": "1"}
		p.Finalizers = []string{"a", "b", "c"}
		p.Status.Conditions = []corev1.PodCondition{{Type: "A", Status: "True"}, {Type: "B", Status: "True"}}
	})

	b := *a.DeepCopy()
	b.Labels["x/y"] = "2"
	b.Labels["z"] = "~"
	b.Finalizers = []string{"a", "c"}
	b.Status.Conditions[1].Status = "False"
	ops, err := jsonPatch(res, schematest.Marshal(t, &a), schematest.Marshal(t, &b), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, o := range ops {
		got = append(got, fmt.Sprint(o.Op, " ", o.Path, " ", o.Value))
	}

	want := []string{
		"remove /metadata/finalizers/1 <nil>", "replace /metadata/labels/x~1y 2", "add /metadata/labels/z ~",
		"replace /status/conditions/1/status False",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}

	if _, err := jsonPatch(res, schematest.Marshal(t, &corev1.Pod{}), schematest.Marshal(t, &a),
		func(string) bool { return false }); err == nil {
		t.Error("labels that weren't seen were added whole")
	}
}
