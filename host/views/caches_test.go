package views

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// world is the caches of all resources that plans need, and the same objects for the brute-force evaluator.
type world struct {
	stores  map[abi.Resource]*Indexed
	masks   map[abi.Resource]*schema.Mask
	schemas map[abi.Resource]*schema.Resource
	typed   map[abi.Resource]map[string]runtime.Object
	things  map[abi.Resource]map[string]*thing
	version int

	wants map[abi.Resource][]Need
	whole bool // filters aren't applied
	// mirror gets the same objects, mirrored is the last event there.
	mirror   *world
	mirrored func() (cache.Event, bool)
}

func (w *world) Store(r abi.Resource) Store {
	if r == schema.Any {
		var j Joint
		for _, r := range anyPool {
			j = append(j, Part{w.stores[r], w.schemas[r]})
		}
		return j
	}
	return w.stores[r]
}

// anyPool is what views over all resources find in these worlds.
var anyPool = []abi.Resource{pods, replicasets, deployments, nodesR}

func newWorld(plans ...*Plan) (*world, error) {
	w := &world{stores: map[abi.Resource]*Indexed{}, masks: map[abi.Resource]*schema.Mask{},
		schemas: map[abi.Resource]*schema.Resource{},
		typed:   map[abi.Resource]map[string]runtime.Object{}, things: map[abi.Resource]map[string]*thing{},
		wants: map[abi.Resource][]Need{}}
	for _, p := range plans {
		for _, n := range p.Needs() {
			if err := w.addNeed(n); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func (w *world) addNeed(n Need) error {
	if n.Resource == schema.Any {
		for _, r := range anyPool {
			n.Resource = r
			if err := w.addNeed(n); err != nil {
				return err
			}
		}
		return nil
	}

	s, err := schema.Named(n.Resource)
	if err != nil {
		return err
	}

	mask, err := s.Message.Mask(n.Fields...)
	if err != nil {
		return err
	}

	if w.stores[n.Resource] == nil {
		w.stores[n.Resource] = &Indexed{Indexer: clientgo.NewIndexer(clientgo.MetaNamespaceKeyFunc, clientgo.Indexers{})}
		w.schemas[n.Resource], w.masks[n.Resource] = s, mask
		w.typed[n.Resource], w.things[n.Resource] = map[string]runtime.Object{}, map[string]*thing{}
	}

	w.masks[n.Resource] = w.masks[n.Resource].Union(mask)
	w.wants[n.Resource] = append(w.wants[n.Resource], n)
	return w.stores[n.Resource].Index(n.Indexers)
}

// keptMask returns what the cache keeps of an object, nil for nothing: what those want that keep it, and what all
// filters read.
func (w *world) keptMask(o *cache.Object) *schema.Mask {
	r := o.Resource.Resource
	if w.whole {
		return w.masks[r]
	}
	var mask, reads *schema.Mask
	for _, n := range w.wants[r] {
		if n.Filter != nil {
			reads = n.Filter.Reads.Union(reads)
		}
		if n.Filter == nil || n.Filter.Keep(o) {
			m, err := n.Mask(o.Resource)
			if err != nil {
				panic(err)
			}
			mask = m.Union(mask)
		}
	}
	if mask == nil {
		return nil
	}
	return mask.Union(reads)
}

// sameReaders reports whether the same is kept of both.
func (w *world) sameReaders(a, b *cache.Object) bool {
	if a == nil || b == nil {
		return true
	}
	x, y := w.keptMask(a), w.keptMask(b)
	return x.Covers(y) && y.Covers(x)
}

// applyObject puts the object into the caches (nil deletes), as the cache does it; no event if what is kept is the
// same.
func (w *world) applyObject(r abi.Resource, ns, name string, o runtime.Object) (cache.Event, bool) {
	if w.mirror != nil {
		w.mirrored = func() (cache.Event, bool) { return w.mirror.applyObject(r, ns, name, o) }
	}
	w.version++
	id, store := ns+"/"+name, w.stores[r]
	e := cache.Event{Resource: w.schemas[r], Old: store.Get(ns, name)}
	store.Current = strconv.Itoa(w.version)

	gone := func() (cache.Event, bool) {
		if e.Old == nil {
			return e, false
		}
		if err := store.Delete(e.Old); err != nil {
			panic(err)
		}
		return e, true
	}

	if o == nil {
		delete(w.typed[r], id)
		delete(w.things[r], id)
		return gone()
	}

	was := w.typed[r][id]
	w.typed[r][id], w.things[r][id] = o, newThing(r, o)
	raw := encodeObject(w.schemas[r], o)
	full := &cache.Object{Resource: w.schemas[r], Namespace: ns, Name: name, UID: o.(metav1.Object).GetUID(),
		ResourceVersion: store.Current, Raw: raw}
	mask := w.keptMask(full)
	if mask == nil {
		e.Moved = e.Old != nil && e.Old.UID == full.UID
		return gone()
	}

	e.Moved = e.Old == nil && was != nil
	raw, err := mask.Project(nil, raw)
	if err != nil {
		panic(err)
	}
	e.New = full
	e.New.Raw = raw
	if err := store.Add(e.New); err != nil {
		panic(err)
	}

	return e, e.Old == nil || !bytes.Equal(e.Old.Raw, raw)
}

// encodeObject returns the object as the caches have it: of a custom resource it comes as JSON.
func encodeObject(s *schema.Resource, o runtime.Object) (raw []byte) {
	var err error
	if !s.Custom {
		raw, err = o.(interface{ Marshal() ([]byte, error) }).Marshal()
	} else if raw, err = json.Marshal(o); err == nil {
		raw, _, _, err = schema.FromJSON(nil, raw, nil)
	}
	if err != nil {
		panic(err)
	}
	return raw
}

// randomEvent makes one random event.
func (w *world) randomEvent(r *rand.Rand, all []abi.Resource) (cache.Event, bool) {
	res := pick(r, all)
	ns, name := identify(r, res)
	old := w.typed[res][ns+"/"+name]
	if old != nil && chance(r, 18) {
		return w.applyObject(res, ns, name, nil)
	}

	o := blankObject(res)
	if old != nil {
		o = old.DeepCopyObject()
	}
	m := o.(metav1.Object)
	if old == nil || chance(r, 2) { // sometimes another object of the same name, whose deletion nobody saw
		m.SetNamespace(ns)
		m.SetName(name)
		m.SetUID(types.UID(fmt.Sprintf("%s-%s-%s-%d", res.Name, ns, name, r.IntN(2))))
	}

	var uids []types.UID
	for _, res := range all {
		for _, id := range sortedKeys(w.typed[res]) {
			uids = append(uids, w.typed[res][id].(metav1.Object).GetUID())
		}
	}

	n := 1
	if old == nil {
		n = 5
	}
	for range n {
		mutate(r, o, uids)
	}
	return w.applyObject(res, ns, name, o)
}

func sortedKeys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
