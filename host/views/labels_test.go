package views

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// labelled is a controller of ReplicaSets that reads their pods' nodes, with a metric of these labels.
func labelled(labels ...abi.Label) (abi.Controller, []abi.Metric) {
	views := []abi.View{
		{Name: "sets", Resource: replicasets,
			Fields: []string{"metadata.labels[zone]", "metadata.labels[region]", "spec.replicas"}},
		{Name: "pods", Resource: pods, Fields: []string{"spec", "metadata.ownerReferences"}, Where: all(inKeyNamespace())},
		{Name: "asked", Resource: pods, Lazy: true},
		{Name: "counted", Resource: pods, Count: 1, Where: all(inKeyNamespace())},
		{Name: "hidden", Resource: abi.Resource{Version: "v1", Name: "secrets"}, Fields: []string{"metadata", "data"},
			Where: all(inKeyNamespace())},
	}
	return abi.Controller{Name: "c", Views: views}, []abi.Metric{{Name: "plain"}, {Name: "m", Labels: labels}}
}

// A label is the first object's value, or that of two paths; empty without an object or a value.
func TestLabelsOfObjects(t *testing.T) {
	c, metrics := labelled(
		abi.Label{Name: "zone", View: "sets", Paths: []string{"metadata.labels[zone]"}},
		abi.Label{Name: "closed", Values: []string{"a"}},
		abi.Label{Name: "replicas", View: "sets", Paths: []string{"spec.replicas"}},
		abi.Label{Name: "place", View: "sets", Paths: []string{"metadata.labels[region]", "metadata.labels[zone]"},
			Separator: ":\x00:"},
		abi.Label{Name: "node", View: "pods", Paths: []string{"spec.nodeName"}},
		abi.Label{Name: "image", View: "pods", Paths: []string{"spec.containers.image"}},
	)
	p, w := compileWithWorld(t, c)
	labels, err := p.Labels(metrics)
	if err != nil {
		t.Fatal(err)
	}

	three := int32(3)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "a",
		Labels: map[string]string{"zone": "z"}}, Spec: appsv1.ReplicaSetSpec{Replicas: &three}}
	bare := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "y", Name: "a", UID: "b"}}
	w.applyObject(replicasets, "x", "a", set)
	w.applyObject(replicasets, "y", "a", bare)
	for i, node := range []string{"n1", "n0"} {
		name := fmt.Sprint("p", i)
		w.applyObject(pods, "x", name, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name,
			UID: types.UID(name)},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Image: node + "-1"}, {Image: node + "-2"}}}})
	}

	for key, want := range map[abi.KeyRef][]string{
		{Namespace: "x", Name: "a"}:    {"z", "3", ":\x00:z", "n1", "n1-1"},
		{Namespace: "y", Name: "a"}:    {"", "", "", "", ""},
		{Namespace: "x", Name: "gone"}: {"", "", "", "n1", "n1-1"},
	} {
		var s Snapshot
		if err := p.Snapshot(w, key, &s); err != nil {
			t.Fatal(err)
		}
		if got, ok := labels.Of(&s, 1, 0); !ok || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: labels %q (%v), want %q", key.String(), got, ok, want)
		}
		if got, ok := labels.Of(&s, 0, 0); !ok || got != nil {
			t.Errorf("%s: a metric without such labels has %q (%v)", key.String(), got, ok)
		}
	}

	none, err := p.Labels([]abi.Metric{{Name: "m",
		Labels: []abi.Label{{Name: "l", View: "somebody else's", Paths: []string{"spec"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := none.Of(&Snapshot{}, 0, 0); ok {
		t.Error("a controller has labels of a view that it hasn't")
	}
}

// What a custom resource has at a path is a label where it is a text, a number or a truth value; of anything else, and
// of what is written badly, there is none.
func TestLabelsOfCustomResources(t *testing.T) {
	c := abi.Controller{Name: "c", Views: []abi.View{{Name: "apps", Resource: webApps, Fields: []string{"spec.color"}}}}
	p, err := Compile(&c)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := p.Labels([]abi.Metric{{Name: "m",
		Labels: []abi.Label{{Name: "color", View: "apps", Paths: []string{"spec.color"}}}}})
	if err != nil {
		t.Fatal(err)
	}

	for body, want := range map[string]string{
		`{"spec":{"color":"r\u0065d\n"}}`:         "red\n",
		`{"spec":{"color":7.50}}`:                 "7.50",
		`{"spec":{"color":true}}`:                 "true",
		`{"spec":{"color":["a","b"]}}`:            "a",
		`{"spec":{"color":{"a":"b"}}}`:            "",
		`{"spec":{"color":null}}`:                 "",
		`{"spec":"color"}`:                        "",
		`{"status":{"color":"red"}}`:              "",
		`{"spec":{"color":"red"},"metadata2":{}}`: "red",
	} {
		s := Snapshot{x: evaluation{views: []evaluated{{rows: []*cache.Object{newWebApp(t, body)}}}}}
		if got, ok := labels.Of(&s, 0, 0); !ok || len(got) != 1 || got[0] != want {
			t.Errorf("%s: labels %q (%v), want %q", body, got, ok, want)
		}
	}
}

// What can't be a label is refused where the plugin is built and where it is loaded, with what to do.
func TestLabelsThatCannotBe(t *testing.T) {
	for _, x := range []struct{ view, path, want string }{
		{"sets", "metadata.labels[zone]", ""},
		{"sets", "metadata.name", ""}, // of every object
		{"pods", "spec.nodeName", ""},
		{"sets", "spec.replica",
			`path "spec.replica": k8s.io/api/apps/v1.ReplicaSetSpec has no field "replica"; there is replicas`},
		{"sets", "status.replicas", `path "status.replicas" isn't among the view's fields: add it to them`},
		{"sets", "metadata.labels[other]", `path "metadata.labels[other]" isn't among the view's fields: add it to them`},
		{"pods", "spec", `path "spec" leads to more than one value: name one below it`},
		{"pods", "spec.nodeSelector", `path "spec.nodeSelector" leads to more than one value: name one below it`},
		{"asked", "spec.nodeName", "a lazy or counted view has no objects to take a label's value from"},
		{"counted", "spec.nodeName", "a lazy or counted view has no objects to take a label's value from"},
		{"hidden", "metadata.name", "a label's value can't come from v1/secrets, which may contain secrets"},
	} {
		c, metrics := labelled(abi.Label{Name: "l", View: x.view, Paths: []string{x.path}})
		p, err := Compile(&c)
		if err != nil {
			t.Fatal(err)
		}

		_, err = p.Labels(metrics)
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "controller c: metric m: label l: view "+x.view+": ")
		}
		if got != x.want {
			t.Errorf("%s of %s: got %q, want %q", x.path, x.view, got, x.want)
		}
	}
}

// Where a key isn't an object an update names the object that its labels are of; where there is nothing at a path, the
// fallback's is taken.
func TestLabelsOfRows(t *testing.T) {
	beta := "metadata.labels[beta]"
	c, metrics := labelled(abi.Label{Name: "place", View: "sets", Paths: []string{beta, "metadata.labels[region]"},
		Fallbacks: []string{"metadata.labels[zone]", "metadata.labels[area]"}, Separator: "/"})
	c.Key = abi.Key{Single: true}
	c.Views = c.Views[:1]
	c.Views[0].Fields = []string{beta, "metadata.labels[region]", "metadata.labels[zone]", "metadata.labels[area]"}
	p, w := compileWithWorld(t, c)
	labels, err := p.Labels(metrics)
	if err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]map[string]string{
		"a": {"zone": "z", "region": "r", "area": "a"}, "b": {"beta": "", "zone": "z", "area": "a"}, "c": {},
	} {
		w.applyObject(replicasets, "x", name, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name,
			UID: types.UID(name), Labels: set}})
	}

	var s Snapshot
	if err := p.Snapshot(w, abi.KeyRef{}, &s); err != nil {
		t.Fatal(err)
	}
	for row, want := range map[int32]string{0: `["z/r"] true`, 1: `["/a"] true`, 2: `[""] true`, 3: `[] false`,
		KeysOwn: `[] false`, -2: `[] false`} {
		if values, ok := labels.Of(&s, 1, row); fmt.Sprintf("%q %v", values, ok) != want {
			t.Errorf("row %d: %q %v, want %s", row, values, ok, want)
		}
	}

	metrics[1].Labels[0].Fallbacks[0] = "metadata.labels[other]"
	if _, err := p.Labels(metrics); err == nil || !strings.Contains(err.Error(), `path "metadata.labels[other]" isn't among`) {
		t.Errorf("a fallback that isn't among the fields: %v", err)
	}
}
