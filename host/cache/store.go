package cache

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/host/schema"
)

// Store holds the objects of one resource. It is safe for concurrent use.
type Store struct {
	resource *resource
	contents atomic.Pointer[contents]
}

// Get returns the object, nil if there is none. The namespace is empty for cluster-scoped resources.
func (s *Store) Get(namespace, name string) *Object { return s.contents.Load().get(namespace, name) }

// ByIndex returns the objects that have the value in the index, in any order; none if there is no such index.
func (s *Store) ByIndex(index, value string) []*Object {
	return s.contents.Load().byIndex(index, ValueOf(value))
}

// ByValue is ByIndex for a value that is looked for in many stores.
func (s *Store) ByValue(index string, v Value) []*Object {
	return s.contents.Load().byIndex(index, v)
}

// List returns all objects, in any order.
func (s *Store) List() []*Object { return s.contents.Load().list() }

// Len is the number of objects.
func (s *Store) Len() int {
	c := s.contents.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.places)
}

// Version is the resource version up to which the store is current, "" before it is synced.
func (s *Store) Version() string {
	c := s.contents.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version
}

// Synced reports that the store has held all objects once.
func (s *Store) Synced() bool { return s.Version() != "" }

// AddIndexers adds indexes; objects that are there already are indexed at once. A name that exists is left as it is: it
// must stand for the same function.
func (s *Store) AddIndexers(indexers map[string]Indexer) error {
	for name, x := range indexers {
		if x.Values == nil {
			return fmt.Errorf("%s: index %q has no function", s.resource.name, name)
		}
	}
	r := s.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := r.indexers.withNew(r.message, indexers)
	if err != nil {
		return fmt.Errorf("%s: indexes: %w", r.name, err)
	}
	r.indexers = all
	s.contents.Load().addIndexers(all)
	if r.wider != nil {
		r.wider.contents.addIndexers(all)
	}
	return nil
}

// contents is what a store holds. An object has a place while it is there: what names objects in here are their places,
// which are small and which no collector has to follow.
type contents struct {
	mu      sync.RWMutex
	objects []*Object // by place, nil where there is none
	vacant  []uint32
	places  map[digest]uint32 // by names
	indexes map[string]*index
	leaves  *schema.Leaves // of what the indexes read, nil without any
	changed schema.Bits    // room for what an update changes of them
	version string
	bytes   int64
}

func newContents(all *indexers) *contents {
	c := &contents{places: map[digest]uint32{}, indexes: map[string]*index{}}
	c.addIndexers(all)
	return c
}

// addIndexers adds those that aren't there.
func (c *contents) addIndexers(all *indexers) {
	if all == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaves = all.leaves
	for name, f := range all.byName {
		if c.indexes[name] != nil {
			continue
		}
		x := &index{Indexer: f, places: map[digest]places{}}
		for place, o := range c.objects {
			if o != nil {
				x.add(o, uint32(place))
			}
		}
		c.indexes[name] = x
	}
	for _, x := range c.indexes {
		x.reads = nil
		for _, path := range x.Reads {
			i, _ := slices.BinarySearch(c.leaves.Paths(), path)
			x.reads.Set(i)
		}
	}
}

func (c *contents) get(namespace, name string) *Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if place, ok := c.places[digestOf(namespace, name)]; ok {
		return c.objects[place]
	}
	return nil
}

func (c *contents) byIndex(name string, v Value) []*Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.places) == 0 { // as of most resources, and a look through all of them is common
		return nil
	}
	x := c.indexes[name]
	if x == nil || len(x.places) == 0 {
		return nil
	}
	found, ok := x.places[v.digest]
	if !ok {
		return nil
	}
	if found.many == nil {
		return []*Object{c.objects[found.one]}
	}
	all := make([]*Object, len(*found.many))
	for i, place := range *found.many {
		all[i] = c.objects[place]
	}
	return all
}

func (c *contents) list() []*Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*Object, 0, len(c.places))
	for _, o := range c.objects {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// set stores the object, if it is to be kept, and returns the one it replaces. The version moves along.
func (c *contents) set(o *Object) *Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = o.ResourceVersion
	if !o.isWanted() {
		return c.dropObject(objectDigest(o))
	}
	return c.putObject(o)
}

func (c *contents) putObject(o *Object) *Object {
	c.bytes += int64(len(o.Raw))
	key := objectDigest(o)
	place, ok := c.places[key]
	if !ok {
		place = c.findPlace(o)
		c.places[key] = place
		for _, x := range c.indexes {
			x.add(o, place)
		}
		return nil
	}
	old := c.objects[place]
	c.bytes -= int64(len(old.Raw))
	if string(old.Raw) != string(o.Raw) {
		c.reindex(old, o, place)
	}
	c.objects[place] = o
	return old
}

// reindex puts an object in place of another one in the indexes that read what has changed: few updates change anything
// that any of them reads.
func (c *contents) reindex(old, o *Object, place uint32) {
	if c.leaves == nil {
		return
	}
	known := old.UID == o.UID && c.leaves.Changed(old.Raw, o.Raw, &c.changed) == nil
	for _, x := range c.indexes {
		if !known || x.Reads == nil || c.changed.Intersects(x.reads) {
			x.replaceValues(old, o, place)
		}
	}
}

// findPlace finds a place for a new object.
func (c *contents) findPlace(o *Object) uint32 {
	if last := len(c.vacant) - 1; last >= 0 {
		place := c.vacant[last]
		c.vacant = c.vacant[:last]
		c.objects[place] = o
		return place
	}
	c.objects = append(c.objects, o)
	return uint32(len(c.objects) - 1)
}

// remove deletes the object and returns what was stored.
func (c *contents) remove(o *Object) *Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = o.ResourceVersion
	return c.dropObject(objectDigest(o))
}

func (c *contents) dropObject(key digest) *Object {
	place, ok := c.places[key]
	if !ok {
		return nil
	}
	o := c.objects[place]
	c.bytes -= int64(len(o.Raw))
	delete(c.places, key)
	for _, x := range c.indexes {
		x.remove(o, place)
	}
	c.objects[place] = nil
	c.vacant = append(c.vacant, place)
	return o
}

// replace makes the objects the only ones, and returns those that are gone, and for each object the one it replaces.
func (c *contents) replace(objects []*Object, version string) (gone, before []*Object) {
	keys := make(map[digest]struct{}, len(objects))
	for _, o := range objects {
		keys[objectDigest(o)] = struct{}{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.places {
		if _, ok := keys[key]; !ok {
			gone = append(gone, c.dropObject(key))
		}
	}
	before = make([]*Object, len(objects))
	for i, o := range objects {
		before[i] = c.putObject(o)
	}
	c.version = version
	return gone, before
}

func (c *contents) bookmark(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
}
