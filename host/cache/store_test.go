package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// values is an index function for tests: each byte of Raw is a value.
func values(o *Object) []string {
	var all []string
	for _, b := range o.Raw {
		all = append(all, string(b))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// names are an object's.
type names struct{ namespace, name string }

func namesOf(o *Object) names { return names{o.Namespace, o.Name} }

// A store after any changes equals one that was filled with what is left. What has no bytes isn't to be kept.
func TestIndexesFollowTheObjects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	object := func(version int) *Object {
		raw := make([]byte, r.IntN(4))
		for i := range raw {
			raw[i] = byte('a' + r.IntN(4))
		}
		return &Object{Namespace: fmt.Sprint(r.IntN(3)), Name: fmt.Sprint(r.IntN(8)), UID: types.UID(fmt.Sprint(version)), ResourceVersion: fmt.Sprint(version), Raw: raw}
	}
	c := newContents(map[string]func(*Object) []string{"early": values})
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
				if o := object(step); next[namesOf(o)] == nil && o.kept() {
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
			if model[namesOf(o)] = o; !o.kept() {
				delete(model, namesOf(o))
			}
		}
		if step == 2500 {
			c.addIndexers(map[string]func(*Object) []string{"late": values})
		}
		if c.version != fmt.Sprint(step) {
			t.Fatalf("version %s at step %d", c.version, step)
		}
		size := int64(0)
		want := map[string]map[*Object]bool{}
		for key, o := range model {
			size += int64(len(o.Raw))
			if c.get(key.namespace, key.name) != o {
				t.Fatalf("step %d: %v is %+v", step, key, c.get(key.namespace, key.name))
			}
			for _, v := range values(o) {
				if want[v] == nil {
					want[v] = map[*Object]bool{}
				}
				want[v][o] = true
			}
		}
		if len(c.list()) != len(model) || c.bytes != size {
			t.Fatalf("step %d: %d objects of %d bytes, want %d of %d", step, len(c.list()), c.bytes, len(model), size)
		}
		for name, x := range c.indexes {
			if len(x.places) != len(want) {
				t.Fatalf("step %d: index %s has %d values, want %d", step, name, len(x.places), len(want))
			}
			for v := range want {
				got := map[*Object]bool{}
				for _, o := range c.byIndex(name, v) {
					got[o] = true
				}
				if !maps.Equal(got, want[v]) {
					t.Fatalf("step %d: index %s, value %s: %v, want %v", step, name, v, got, want[v])
				}
			}
		}
	}
}
