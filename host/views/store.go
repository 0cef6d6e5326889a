package views

import (
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// Store is what views ask of one resource's cache; *cache.Store is one.
type Store interface {
	// Get returns the object, nil if there is none. The namespace is empty for cluster-scoped resources.
	Get(namespace, name string) *cache.Object
	// ByIndex returns the objects that have the value in the index, in any order.
	ByIndex(index, value string) []*cache.Object
	List() []*cache.Object
	// Version is the resource version up to which the cache is current.
	Version() string
}

// World gives the caches of all resources that a plan needs.
type World interface {
	Store(r abi.Resource) Store
}

// Joint is the stores of all resources as one, for views over all of them.
type Joint []Part

// Part is one resource's store in a [Joint].
type Part struct {
	Store
	Resource *schema.Resource
}

// anyVersion returns the part of a resource, in whatever version it is; nil if there is none.
func (j Joint) anyVersion(r abi.Resource) *Part {
	i := slices.IndexFunc(j, func(p Part) bool { return sameResource(p.Resource.Resource, r) })
	if i < 0 {
		return nil
	}
	return &j[i]
}

// sameResource reports whether two are versions of the same resource.
func sameResource(a, b abi.Resource) bool { return a.Name == b.Name && a.Group == b.Group }

// Get returns nothing: a name alone says nothing of the resource.
func (j Joint) Get(_, _ string) *cache.Object { return nil }

// ByIndex returns the objects that have the value in the index of their own store.
func (j Joint) ByIndex(index, value string) []*cache.Object {
	var all []*cache.Object
	v := cache.ValueOf(value) // once for some sixty stores
	for _, s := range j {
		var found []*cache.Object
		if c, ok := s.Store.(*cache.Store); ok {
			found = c.ByValue(index, v)
		} else {
			found = s.ByIndex(index, value)
		}
		if all == nil {
			all = found
		} else {
			all = append(all, found...)
		}
	}
	return all
}

// List returns all objects.
func (j Joint) List() []*cache.Object {
	var all []*cache.Object
	for _, s := range j {
		all = append(all, s.List()...)
	}
	return all
}

// Version is empty: the stores have versions of their own.
func (j Joint) Version() string { return "" }
