package views

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/abi"
)

// Of large objects a view with first delivers fewer than it may, but one at least, and says how many there are; a lazy
// one does so for each ask.
func TestFirstOfLargeObjects(t *testing.T) {
	c := abi.Controller{Name: "c", Views: []abi.View{
		{Name: "sets", Resource: replicasets, Fields: []string{"spec.replicas"}},
		{Name: "some", Resource: pods, Fields: []string{"metadata.annotations"}, Where: all(inKeyNamespace()), First: 100},
		{Name: "asked", Resource: pods, Fields: []string{"metadata.annotations"}, First: 100, Lazy: true},
	}}
	p, w := compileWithWorld(t, c)
	for i, size := range []int{firstBytes + 1, 1, firstBytes / 2, firstBytes / 2, firstBytes / 2} {
		name := fmt.Sprint("p", i)
		w.applyObject(pods, "x", name, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name,
			UID: types.UID(name), Annotations: map[string]string{"a": strings.Repeat("x", size)}}})
	}

	var s Snapshot
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s); err != nil {
		t.Fatal(err)
	}
	if d := s.Views()[1]; len(d.Objects) != 1 || d.Count != 5 {
		t.Errorf("%d objects of %d", len(d.Objects), d.Count)
	}
	for _, x := range []struct {
		names []string
		want  int
	}{{[]string{"p0"}, 1}, {[]string{"p0", "p1"}, 1}, {[]string{"p1", "p2"}, 2}, {[]string{"p1", "p2", "p3"}, 2}} {
		d, err := s.Ask(&abi.Ask{View: 2, Namespace: "x", Names: x.names})
		if err != nil || len(d.Objects) != x.want || d.Count != int64(len(x.names)) {
			t.Errorf("%q: %d objects of %d: %v", x.names, len(d.Objects), d.Count, err)
		}
	}
}

// A view that delivers the first objects alone has those in the order of their names, and says how many there are; what
// another view is joined with it sees all of them.
func TestFirst(t *testing.T) {
	c := abi.Controller{Name: "c", Views: []abi.View{
		{Name: "sets", Resource: replicasets, Fields: []string{"spec.replicas"}},
		{Name: "some", Resource: pods, Fields: []string{"spec.nodeName"}, Where: all(inKeyNamespace()), First: 2},
		{Name: "joined", Resource: pods, Fields: []string{"metadata.name"}, Where: all(abi.Condition{Op: abi.OpJoin,
			Path: "metadata.name", View: 1, ViewPath: "metadata.name"})},
	}}
	p, w := compileWithWorld(t, c)
	for n := range 4 {
		var s Snapshot
		if err := p.Snapshot(w, abi.KeyRef{Namespace: "x", Name: "a"}, &s); err != nil {
			t.Fatal(err)
		}
		if d := s.Views(); len(d[1].Objects) != min(n, 2) || d[1].Count != int64(n) || len(d[2].Objects) != n {
			t.Errorf("of %d objects %d are delivered, and told as %d; joined with %d", n, len(d[1].Objects), d[1].Count,
				len(d[2].Objects))
		}
		for i := range n {
			if o := s.Find(pods, "x", fmt.Sprint("p", i)); o == nil {
				t.Errorf("of %d objects the %dth isn't found", n, i)
			}
		}
		name := fmt.Sprint("p", n)
		w.applyObject(pods, "x", name, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name,
			UID: types.UID(name)}})
	}

	for _, change := range []func(*abi.View){
		func(v *abi.View) { v.First = -1 },
		func(v *abi.View) { v.Count = 1 },
	} {
		bad := c
		bad.Views = append([]abi.View(nil), c.Views[:2]...)
		change(&bad.Views[1])
		if _, err := Compile(&bad); err == nil || !strings.Contains(err.Error(), "first is") {
			t.Errorf("%+v: %v", bad.Views[1], err)
		}
	}
}
