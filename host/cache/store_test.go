package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/windlass-dev/windlass/host/schema/testpod"
)

// indexByPath indexes objects by the values at a path.
func indexByPath(t testing.TB, path string) Indexer {
	p, err := podDecoder(t).resource.Message.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	return Indexer{Reads: []string{path}, Values: func(o *Object) (all []string) {
		found, err := p.Values(nil, o.Raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			all = append(all, string(v))
		}
		slices.Sort(all)
		return slices.Compact(all)
	}}
}

// indexed returns indexes of pods, beside those that were there.
func indexed(t testing.TB, before *indexers, more map[string]Indexer) *indexers {
	all, err := before.withNew(podDecoder(t).resource.Message, more)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// names are an object's.
type names struct{ namespace, name string }

func namesOf(o *Object) names { return names{o.Namespace, o.Name} }

// A store after any changes equals one that was filled with what is left. What has no bytes isn't to be kept.
func TestIndexesFollowTheObjects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	some := func() string { return []string{"", "a", "b", "c"}[r.IntN(4)] }
	object := func(version int) *Object {
		o := &Object{Namespace: fmt.Sprint(r.IntN(3)), Name: fmt.Sprint(r.IntN(8)),
			UID: types.UID(fmt.Sprint(r.IntN(10) / 9)), ResourceVersion: fmt.Sprint(version)}
		if r.IntN(4) == 0 {
			return o
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: o.UID, Labels: map[string]string{"k": some(), "l": some()}},
			Spec: corev1.PodSpec{NodeName: some()}, Status: corev1.PodStatus{Phase: corev1.PodPhase(some())}}
		var err error
		if o.Raw, err = pod.Marshal(); err != nil {
			t.Fatal(err)
		}
		return o
	}

	labels, whole := indexByPath(t, "metadata.labels"), indexByPath(t, "status.phase")
	whole.Reads = nil // nobody said
	early := map[string]Indexer{"node": indexByPath(t, "spec.nodeName"), "labels": labels, "phase": whole,
		"uid": {Reads: []string{"metadata.uid"}, Values: func(o *Object) []string {
			return []string{string(o.UID)}
		}}}

	late := map[string]Indexer{"label": indexByPath(t, "metadata.labels[k]"),
		"both": {Reads: []string{"metadata.labels", "spec.nodeName"}, Values: func(o *Object) []string {
			return []string{fmt.Sprint(labels.Values(o), early["node"].Values(o))}
		}}}
	first := indexed(t, nil, early)
	c := newContents(first)

	model := map[names]*Object{}
	for step := 1; step < 5000; step++ {
		switch o := object(step); r.IntN(20) {
		case 0, 1, 2, 3, 4, 5:
			if old := c.remove(o); old != model[namesOf(o)] {
				t.Fatalf("step %d: removed %+v, not %+v", step, old, model[namesOf(o)])
			}
			delete(model, namesOf(o))
		case 6:
			var all []*Object
			next := map[names]*Object{}
			for range r.IntN(6) {
				if o := object(step); next[namesOf(o)] == nil && o.isWanted() {
					next[namesOf(o)] = o
					all = append(all, o)
				}
			}
			gone, before := c.replace(all, fmt.Sprint(step))
			for _, o := range gone {
				if model[namesOf(o)] != o || next[namesOf(o)] != nil {
					t.Fatalf("step %d: %+v isn't gone", step, o)
				}
			}
			for i, o := range all {
				if before[i] != model[namesOf(o)] {
					t.Fatalf("step %d: %+v was before", step, before[i])
				}
			}
			model = next
		default:
			if old := c.set(o); old != model[namesOf(o)] {
				t.Fatalf("step %d: replaced %+v, not %+v", step, old, model[namesOf(o)])
			}
			if model[namesOf(o)] = o; !o.isWanted() {
				delete(model, namesOf(o))
			}
		}

		if step == 2500 {
			c.addIndexers(indexed(t, first, late))
		}
		if c.version != fmt.Sprint(step) {
			t.Fatalf("version %s at step %d", c.version, step)
		}

		size := int64(0)
		for key, o := range model {
			size += int64(len(o.Raw))
			if c.get(key.namespace, key.name) != o {
				t.Fatalf("step %d: %v is %+v", step, key, c.get(key.namespace, key.name))
			}
		}

		if len(c.list()) != len(model) || c.bytes != size {
			t.Fatalf("step %d: %d objects of %d bytes, want %d of %d", step, len(c.list()), c.bytes, len(model), size)
		}
		for name, x := range c.indexes {
			want := map[string]map[*Object]bool{}
			for _, o := range model {
				for _, v := range x.Values(o) {
					if want[v] == nil {
						want[v] = map[*Object]bool{}
					}
					want[v][o] = true
				}
			}
			if len(x.places) != len(want) {
				t.Fatalf("step %d: index %s has %d values, want %d", step, name, len(x.places), len(want))
			}
			for v := range want {
				got := map[*Object]bool{}
				for _, o := range c.byIndex(name, ValueOf(v)) {
					got[o] = true
				}
				if !maps.Equal(got, want[v]) {
					t.Fatalf("step %d: index %s, value %s: %v, want %v", step, name, v, got, want[v])
				}
			}
		}
	}
}

// An index is asked again for the values of an object only if something changed that it reads.
func TestAnIndexIsAskedForWhatItReads(t *testing.T) {
	asked := map[string]int{}
	counted := func(name string, reads []string) Indexer {
		return Indexer{Reads: reads, Values: func(*Object) []string { asked[name]++; return []string{"same"} }}
	}

	c := newContents(indexed(t, nil,
		map[string]Indexer{"node": counted("node", []string{"spec.nodeName"}),
			"labels": counted("labels", []string{"metadata.labels[app]", "metadata.uid"}),
			"name":   counted("name", []string{}), "whole": counted("whole", nil)}))

	set := func(change func(*corev1.Pod)) {
		pod := testpod.New(1)
		change(pod)
		raw, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		c.set(&Object{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Raw: raw})
	}

	for _, x := range []struct {
		change func(*corev1.Pod)
		asked  map[string]int
	}{
		{func(*corev1.Pod) {}, map[string]int{"node": 1, "labels": 1, "name": 1, "whole": 1}},
		{func(p *corev1.Pod) { p.Status.Phase = "Failed" }, map[string]int{"whole": 2}},
		{func(p *corev1.Pod) { p.Status.Phase, p.Spec.NodeName = "Failed", "other" }, map[string]int{"node": 2, "whole": 2}},
		{func(p *corev1.Pod) { p.UID = "other" }, map[string]int{"node": 2, "labels": 2, "name": 2, "whole": 2}},
	} {
		clear(asked)
		set(x.change)
		if !maps.Equal(asked, x.asked) {
			t.Errorf("asked %v, want %v", asked, x.asked)
		}
	}
}
