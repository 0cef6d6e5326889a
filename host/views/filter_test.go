package views

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

func in(path string, values ...string) *abi.Condition {
	return &abi.Condition{Path: path, Op: abi.OpIn, Values: values}
}

func negated(c *abi.Condition) *abi.Condition {
	n := *c
	n.Not = true
	return &n
}

// filterOf returns what the views on pods, after a key view on replica sets, keep.
func filterOf(t *testing.T, where ...*abi.Condition) *cache.Filter {
	t.Helper()
	c := abi.Controller{Name: "c", Views: []abi.View{{Name: "sets", Resource: replicasets}}}
	for _, w := range where {
		c.Views = append(c.Views, abi.View{Name: "pods", Resource: pods, Fields: []string{"spec"}, Where: w})
	}
	p, err := Compile(&c)
	if err != nil {
		t.Fatal(err)
	}
	needs := p.Needs()
	if needs[0].Filter != nil {
		t.Errorf("replica sets are filtered by %s", needs[0].Filter.Name)
	}
	return needs[1].Filter
}

func TestConstantsDecideWhatIsKept(t *testing.T) {
	same := abi.Condition{Path: "metadata.namespace", Op: abi.OpJoin, View: abi.FromKey, ViewPath: "namespace"}
	running, node, app := in("status.phase", "Running"), &abi.Condition{Path: "spec.nodeName", Op: abi.OpExists},
		in("metadata.labels[app]", "p", "q")
	ready := &abi.Condition{Each: true, Path: "status.conditions",
		Where: &abi.Condition{All: []abi.Condition{*in("type", "Ready"), *in("status", "True")}}}
	owned := &abi.Condition{Each: true, Path: "metadata.ownerReferences", Where: &abi.Condition{All: []abi.Condition{
		*in("controller", "true"), {Path: "uid", Op: abi.OpJoin, View: 0, ViewPath: "metadata.uid"}}}}

	either := func(c ...abi.Condition) *abi.Condition { return &abi.Condition{Any: c} }
	for name, c := range map[string]struct {
		where []*abi.Condition
		want  string
	}{
		"nothing":               {[]*abi.Condition{nil}, ""},
		"a join alone":          {[]*abi.Condition{&same}, ""},
		"a constant and a join": {[]*abi.Condition{all(*running, same)}, `status.phase in "Running"`},
		"in another order": {[]*abi.Condition{all(*app, same, *running)},
			`metadata.labels[app] in "p"|"q", status.phase in "Running"`},
		"values in another order": {[]*abi.Condition{all(*running, *in("metadata.labels[app]", "q", "p"))},
			`metadata.labels[app] in "p"|"q", status.phase in "Running"`},
		"either": {[]*abi.Condition{either(*running, *node)},
			`spec.nodeName?; or status.phase in "Running"`},
		"either or none": {[]*abi.Condition{either(*running, same)}, ""},
		"two views": {[]*abi.Condition{running, negated(node)},
			`not spec.nodeName?; or status.phase in "Running"`},
		"two views, one of all": {[]*abi.Condition{running, &same}, ""},
		"two views alike":       {[]*abi.Condition{running, all(same, *running)}, `status.phase in "Running"`},
		"an element": {[]*abi.Condition{ready},
			`(each status.conditions, status.conditions.status in "True", status.conditions.type in "Ready")`},
		"an element with a join": {[]*abi.Condition{owned},
			`(each metadata.ownerReferences, metadata.ownerReferences.controller in "true")`},
		"no element": {[]*abi.Condition{negated(ready)},
			`no(each status.conditions, status.conditions.status in "True", status.conditions.type in "Ready")`},
	} {
		f, got := filterOf(t, c.where...), ""
		if f != nil {
			got = f.Name
		}
		if got != c.want {
			t.Errorf("%s: keeps %s, want %s", name, got, c.want)
		}
	}
}

func TestAFilterReadsTheBytesOfAnObject(t *testing.T) {
	f := filterOf(t, all(*in("metadata.name", "a"), *in("metadata.labels[app]", "p")))
	if !f.Reads.Keeps("metadata.labels[app]") || f.Reads.Keeps("spec") {
		t.Error("what it reads isn't what its conditions name")
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{{"a", map[string]string{"app": "p"}, true}, {"b", map[string]string{"app": "p"}, false},
		{"a", map[string]string{"app": "q"}, false}, {"a", nil, false}} {
		raw, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: c.labels}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Keep(&cache.Object{Name: c.name, Raw: raw}); got != c.want {
			t.Errorf("%s %v: %v", c.name, c.labels, got)
		}
	}
}

// Who is quiet on deletions has to hear of an object that leaves by an update, and who is quiet on additions of one
// that comes by it.
func TestAnObjectThatMovesIsLoudAsAnUpdate(t *testing.T) {
	c := abi.Controller{Name: "c",
		Views: []abi.View{{Name: "pods", Resource: pods, Where: in("metadata.labels[app]", "p"),
			QuietOn: []string{abi.QuietAdd, abi.QuietDelete}}}}
	p, w := compileWithWorld(t, c)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "1"}}
	if _, is := w.applyObject(pods, "x", "a", pod); is {
		t.Fatal("an object that isn't kept is told of")
	}
	mine := pod.DeepCopy()
	mine.Labels = map[string]string{"app": "p"}
	for _, version := range []*corev1.Pod{mine, pod} {
		e, is := w.applyObject(pods, "x", "a", version)
		if !is || !e.Moved || (e.Old == nil) == (e.New == nil) {
			t.Fatalf("%+v", e)
		}
		if got := collectWakes(p, w, e, nil); len(got) != 1 {
			t.Errorf("%+v wakes %v", e, got)
		}
		e.Moved = false
		if got := collectWakes(p, w, e, nil); len(got) != 0 {
			t.Errorf("a mere addition or deletion wakes %v", got)
		}
	}
}
