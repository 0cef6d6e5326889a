package views

import (
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/grant"
)

// Narrow leaves out of the plan's views what the grant doesn't cover: for snapshots, wakings and lazy views such
// objects don't exist, and the cache needn't keep them. It is called before the plan is used.
func (p *Plan) Narrow(g *grant.Grant) error {
	p.grant = g
	for _, r := range p.resources {
		r.narrow = g.Narrows(r.resource.Resource)
		if !r.narrow || r.overAllResources() {
			continue
		}
		reads := slices.Clone(always)
		if g.Selects(r.resource.Resource) {
			reads = append(reads, "metadata.labels")
		}
		mask, err := r.resource.Message.Mask(reads...)
		if err != nil {
			return err
		}
		f := &cache.Filter{Name: "granted " + g.Name(), Reads: mask, Keep: g.Covers}
		if own := r.filter; own != nil {
			f.Name, f.Reads = own.Name+"; "+f.Name, mask.Union(own.Reads)
			f.Keep = func(o *cache.Object) bool { return own.Keep(o) && g.Covers(o) }
		}
		r.filter = f
	}
	return nil
}

// Reads reports whether any of the plan's views can hold objects of a resource.
func (p *Plan) Reads(r abi.Resource) bool {
	return slices.ContainsFunc(p.resources, func(x *resourcePlan) bool { return x.readsResource(r) }) && p.grant.Reads(r)
}

// Denied are the resources of views that can hold nothing, because the grant doesn't have them.
func (p *Plan) Denied() (all []abi.Resource) {
	for _, r := range p.resources {
		if !p.grant.Reads(r.resource.Resource) {
			all = append(all, r.resource.Resource)
		}
	}
	return all
}

// granted returns the event as it concerns those who see only what is covered: what begins to be covered comes, what
// ceases to be goes. Not ok: it is none of their business.
func (r *resourcePlan) granted(g *grant.Grant, e cache.Event) (granted cache.Event, ok bool) {
	if !r.narrow {
		return e, true
	}
	was, is := e.Old, e.New
	if was != nil && !g.Covers(was) {
		e.Old = nil
	}
	if is != nil && !g.Covers(is) {
		e.New = nil
	}
	e.Moved = e.Moved || was != e.Old && e.New != nil || is != e.New && e.Old != nil
	return e, e.Old != nil || e.New != nil
}

// coveredWorld returns the caches with nothing in them but what is covered.
func (p *Plan) coveredWorld(w World) World {
	if p.grant == nil {
		return w
	}
	return narrowWorld{w, p.grant}
}

type narrowWorld struct {
	World
	grant *grant.Grant
}

func (w narrowWorld) Store(r abi.Resource) Store {
	s := w.World.Store(r)
	if s == nil || !w.grant.Narrows(r) {
		return s
	}
	return narrowStore{s, w.grant}
}

type narrowStore struct {
	Store
	grant *grant.Grant
}

// uncovered returns the store that is narrowed.
func uncovered(s Store) Store {
	if n, ok := s.(narrowStore); ok {
		return n.Store
	}
	return s
}

func (s narrowStore) Get(namespace, name string) *cache.Object {
	if o := s.Store.Get(namespace, name); o != nil && s.grant.Covers(o) {
		return o
	}
	return nil
}

func (s narrowStore) ByIndex(index, value string) []*cache.Object {
	return s.onlyCovered(s.Store.ByIndex(index, value))
}

func (s narrowStore) List() []*cache.Object { return s.onlyCovered(s.Store.List()) }

func (s narrowStore) onlyCovered(all []*cache.Object) []*cache.Object {
	var kept []*cache.Object
	for _, o := range all {
		if s.grant.Covers(o) {
			kept = append(kept, o)
		}
	}
	return kept
}
