package views

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/test/worlds"
)

var onPods, onNodes = abi.Resource{Version: "v1", Name: "pods"}, abi.Resource{Version: "v1", Name: "nodes"}

// young has some resources' stores not be current.
type young map[abi.Resource]bool

func (y young) Current(r abi.Resource) (abi.Resource, bool) { return r, !y[r] }
func (y young) Lost(abi.Resource) bool                      { return false }
func (y young) Lacking() (unlisted []abi.Resource, young abi.Resource, wait time.Duration) {
	for r, lacks := range y {
		if lacks {
			unlisted = append(unlisted, r)
		}
	}
	return unlisted, young, 0
}

// watched is a world that takes down into which stores somebody has looked.
type watched struct {
	World
	looked map[abi.Resource]bool
}

func (w watched) Store(r abi.Resource) Store {
	s := w.World.Store(r)
	if s == nil {
		return nil
	}
	return watchedStore{s, func() { w.looked[r] = true }}
}

type watchedStore struct {
	Store
	look func()
}

func (s watchedStore) Get(namespace, name string) *cache.Object {
	s.look()
	return s.Store.Get(namespace, name)
}

func (s watchedStore) ByIndex(index, value string) []*cache.Object {
	s.look()
	return s.Store.ByIndex(index, value)
}

func (s watchedStore) List() []*cache.Object {
	s.look()
	return s.Store.List()
}

// planned is a controller's plan, and an empty world for it.
func planned(t *testing.T, c *abi.Controller) (*Plan, *world) {
	t.Helper()
	p, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(p, p)
	if err != nil {
		t.Fatal(err)
	}
	return p, w
}

// No snapshot holds, or lacks, anything by a store that isn't current; a key whose views look into none such has one.
func TestSnapshotsAreOfCurrentStores(t *testing.T) {
	taken, refused := 0, 0
	for seed := uint64(1); taken+refused < worlds.Number(20_000); seed++ {
		c := randomController(rand.New(rand.NewPCG(seed, 0)))
		r := rand.New(rand.NewPCG(seed, 18))
		p, w := planned(t, &c)
		resources, known := resourcesOf(&c), map[abi.KeyRef]bool{}

		var snapshot Snapshot
		for range 40 {
			w.randomEvent(r, resources)
			y := young{}
			for _, res := range resources {
				if r.IntN(4) == 0 {
					y[res] = true
				}
			}

			p.SetCurrency(y)
			for _, k := range universe(&c, w, known) {
				seen := watched{w, map[abi.Resource]bool{}}
				err := p.Snapshot(seen, k, &snapshot)
				var why *Young
				switch {
				case errors.As(err, &why):
					refused++
					if !y[why.Resource] {
						t.Fatalf("seed %d: %+v is refused for %s, which is current", seed, k, why.Resource)
					}
				case err != nil:
					t.Fatalf("seed %d: %v", seed, err)
				default:
					taken++
					for res := range seen.looked {
						if y[res] {
							t.Fatalf("seed %d: the snapshot of %+v is of %s, which isn't current", seed, k, res)
						}
					}
				}
			}
		}
	}

	if taken == 0 || refused == 0 {
		t.Errorf("%d snapshots, %d refused: the worlds are too simple", taken, refused)
	}
	t.Logf("%d snapshots, %d refused", taken, refused)
}

// What a plugin asks of a lazy view is refused, too, while it would be answered from a store that isn't current.
func TestLazyViewsAreOfCurrentStores(t *testing.T) {
	c := &abi.Controller{Name: "c",
		Views: []abi.View{{Name: "pods", Resource: onPods}, {Name: "nodes", Resource: onNodes, Lazy: true}}}
	p, w := planned(t, c)
	var snapshot Snapshot
	y := young{onNodes: true}
	p.SetCurrency(y)
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "a", Name: "a"}, &snapshot); err != nil {
		t.Fatal(err)
	}
	var why *Young
	if _, err := snapshot.Ask(&abi.Ask{View: 1, Names: []string{"n"}}); !errors.As(err, &why) || why.Resource != onNodes {
		t.Errorf("asked of a store that isn't current: %v", err)
	}
	delete(y, onNodes)
	if _, err := snapshot.Ask(&abi.Ask{View: 1, Names: []string{"n"}}); err != nil {
		t.Errorf("asked of one that is: %v", err)
	}
}

// A partial view is evaluated over what there is.
func TestPartialViews(t *testing.T) {
	c := &abi.Controller{Name: "c", Views: []abi.View{
		{Name: "pods", Resource: onPods},
		{Name: "nodes", Resource: onNodes, Partial: true,
			Where: &abi.Condition{Op: abi.OpJoin, Path: "metadata.name", View: 0, ViewPath: "spec.nodeName"}},
	}}
	p, w := planned(t, c)
	var snapshot Snapshot
	p.SetCurrency(young{onNodes: true})
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "a", Name: "a"}, &snapshot); err != nil {
		t.Errorf("with a partial view: %v", err)
	}
	p.SetCurrency(young{onPods: true})
	var why *Young
	if err := p.Snapshot(w, abi.KeyRef{Namespace: "a", Name: "a"}, &snapshot); !errors.As(err, &why) ||
		why.Resource != onPods || why.View != "pods" {
		t.Errorf("with a store that isn't current: %v", err)
	}
}

// slow is a world that still waits for a resource.
type slow struct{ young }

func (slow) Lacking() (unlisted []abi.Resource, young abi.Resource, wait time.Duration) {
	return []abi.Resource{onPods}, onNodes, time.Second
}

// A lenient view waits for a time, then is delivered with the names of what it lacks; other views wait on.
func TestLenientViews(t *testing.T) {
	all := abi.Resource{Name: "*"}
	owned := &abi.Condition{Op: abi.OpJoin, Path: "owners.uid", View: 0, ViewPath: "metadata.uid"}
	c := &abi.Controller{Name: "c", Views: []abi.View{
		{Name: "items", Resource: all},
		{Name: "dependents", Resource: all, Where: owned, Lenient: true},
	}}
	p, w := planned(t, c)
	key := abi.KeyRef{Resource: "v1/pods", Namespace: "a", Name: "a"}
	var snapshot Snapshot
	p.SetCurrency(slow{})
	var why *Young
	if err := p.Snapshot(w, key, &snapshot); !errors.As(err, &why) || why.Resource != onNodes || why.Wait != time.Second {
		t.Errorf("with a store that is waited for: %v", err)
	}

	p.SetCurrency(young{onNodes: true})
	if err := p.Snapshot(w, key, &snapshot); err != nil {
		t.Fatalf("without a resource: %v", err)
	}
	var r abi.SyncRequest
	snapshot.Request(&r)
	if got := r.Views[1].Unlisted; len(got) != 1 || got[0] != "v1/nodes" || r.Views[0].Unlisted != nil {
		t.Errorf("without a resource, the request has %+v", r.Views)
	}
	if lacks, ok := snapshot.Lacks(); !ok || lacks != onNodes {
		t.Errorf("without a resource, the snapshot lacks %v", lacks)
	}
	p.SetCurrency(young{})
	if err := p.Snapshot(w, key, &snapshot); err != nil {
		t.Errorf("with all: %v", err)
	}
	if lacks, ok := snapshot.Lacks(); ok {
		t.Errorf("with all, the snapshot lacks %v", lacks)
	}

	for what, v := range map[string]abi.View{
		"of one resource": {Name: "pods", Resource: onPods, Lenient: true},
		"and partial":     {Name: "all", Resource: all, Where: owned, Lenient: true, Partial: true},
	} {
		if _, err := Compile(&abi.Controller{Name: "c", Views: []abi.View{{Name: "items", Resource: all}, v}}); err == nil {
			t.Errorf("a lenient view %s was taken", what)
		}
	}
}
