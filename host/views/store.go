package views

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
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
type Joint []Store

// Get returns nothing: a name alone says nothing of the resource.
func (j Joint) Get(_, _ string) *cache.Object { return nil }

// ByIndex returns the objects that have the value in the index of their own store.
func (j Joint) ByIndex(index, value string) []*cache.Object {
	var all []*cache.Object
	v := cache.ValueOf(value) // once for some sixty stores
	for _, s := range j {
		var found []*cache.Object
		if c, ok := s.(*cache.Store); ok {
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
