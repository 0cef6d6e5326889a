package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// caches are those of one process: per resource, what has come of the watch so far. They show each resource as it was
// at some time, and never go back.
type caches struct {
	c      *Cluster
	stores map[abi.Resource]*store
	seen   int // changes of the cluster that have been taken into the backlogs
}

// store is the cache of a resource.
type store struct {
	c        *Cluster
	kind     *kind
	objects  map[string]*cache.Object
	backlog  []change // that have happened, and that the store doesn't show yet
	version  int
	indexers map[string]cache.Indexer
}

// newCaches lists what the plans read; they begin with what there is.
func newCaches(c *Cluster, plans []*views.Plan) (*caches, error) {
	p := &caches{c: c, stores: map[abi.Resource]*store{}, seen: len(c.changes)}
	for _, plan := range plans {
		for _, n := range plan.Needs() {
			of := []abi.Resource{n.Resource}
			if n.Resource == schema.Any {
				of = of[:0]
				for r := range c.kinds {
					of = append(of, r)
				}
			}
			for _, r := range of {
				s := p.stores[r]
				if s == nil {
					k := c.kinds[r]
					if k == nil {
						return nil, fmt.Errorf("controller %s reads %s, which the simulated cluster doesn't serve: give its CustomResourceDefinition to the simulation (crd/*.yaml, or among the objects)", plan.Controller(), r)
					}

					s = &store{c: c, kind: k, objects: map[string]*cache.Object{}, version: c.version,
						indexers: map[string]cache.Indexer{}}
					p.stores[r] = s
					for _, o := range c.sortedObjects(r) {
						cached, err := k.cacheObject(o)
						if err != nil {
							return nil, err
						}
						s.objects[objectKey(o)] = cached
					}
				}
				maps.Copy(s.indexers, n.Indexers)
			}
		}
	}
	return p, nil
}

// fillBacklogs sorts what has happened since into the backlogs.
func (p *caches) fillBacklogs() {
	for _, x := range p.c.changes[p.seen:] {
		if s := p.stores[x.kind.Resource]; s != nil {
			s.backlog = append(s.backlog, x)
		}
	}
	p.seen = len(p.c.changes)
}

// resourcesBehind returns the resources that have a backlog, sorted.
func (p *caches) resourcesBehind() (all []abi.Resource) {
	p.fillBacklogs()
	for _, r := range schema.Sorted(p.stores) {
		if len(p.stores[r].backlog) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// takeChange takes the first change of a backlog into the store.
func (p *caches) takeChange(r abi.Resource) (e cache.Event, err error) {
	s := p.stores[r]
	x := s.backlog[0]
	s.backlog = s.backlog[1:]
	s.version = x.version
	e.Resource = s.kind.schema
	if x.old != nil {
		e.Old = s.objects[objectKey(x.old)]
	}
	if x.new == nil {
		delete(s.objects, objectKey(x.old))
		return e, nil
	}
	if e.New, err = s.kind.cacheObject(x.new); err != nil {
		return e, err
	}
	s.objects[objectKey(x.new)] = e.New
	return e, nil
}

// Store returns a resource's cache.
func (p *caches) Store(r abi.Resource) views.Store { return views.StoreOf(p.stores, r) }

// Get returns an object.
func (s *store) Get(namespace, n string) *cache.Object { return s.objects[objectName(namespace, n)] }

// ByIndex looks at all objects: there are few.
func (s *store) ByIndex(index, value string) (found []*cache.Object) {
	x := s.indexers[index]
	for _, o := range s.List() {
		if slices.Contains(x.Values(o), value) {
			found = append(found, o)
		}
	}
	return found
}

// List returns all objects, always in the same order: a run can be repeated.
func (s *store) List() (all []*cache.Object) {
	for _, k := range slices.Sorted(maps.Keys(s.objects)) {
		all = append(all, s.objects[k])
	}
	return all
}

// Version is the version up to which the store is current: the cluster's, as a bookmark would tell, where nothing is
// left in the backlog.
func (s *store) Version() string {
	if len(s.backlog) == 0 {
		return strconv.Itoa(s.c.version)
	}
	return strconv.Itoa(s.version)
}
