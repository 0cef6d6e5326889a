package views

import (
	"fmt"
	"strings"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// Indexed is a Store without a cluster behind it: client-go's indexer, with the objects that are put there.
type Indexed struct {
	clientgo.Indexer
	// Current is the resource version up to which the store is current.
	Current string
}

// NewIndexed makes a store with the indexes that a need asks for.
func NewIndexed(indexers map[string]cache.Indexer) (*Indexed, error) {
	s := &Indexed{Indexer: clientgo.NewIndexer(clientgo.MetaNamespaceKeyFunc, clientgo.Indexers{})}
	return s, s.Index(indexers)
}

// Index adds the indexes that aren't there yet.
func (s *Indexed) Index(indexers map[string]cache.Indexer) error {
	have, added := s.GetIndexers(), clientgo.Indexers{}
	for name, x := range indexers {
		if have[name] == nil {
			added[name] = func(o any) ([]string, error) { return x.Values(o.(*cache.Object)), nil }
		}
	}
	return s.AddIndexers(added)
}

// Get returns the object, nil if there is none.
func (s *Indexed) Get(namespace, name string) *cache.Object {
	o, ok, err := s.GetByKey(strings.TrimPrefix(namespace+"/"+name, "/"))
	if !ok || err != nil {
		return nil
	}
	return o.(*cache.Object)
}

// ByIndex returns the objects that have the value in the index. It panics if no need has asked for the index.
func (s *Indexed) ByIndex(index, value string) []*cache.Object {
	list, err := s.Indexer.ByIndex(index, value)
	if err != nil {
		panic(fmt.Sprintf("a plan looks at an index that it hasn't asked for: %v", err))
	}
	return objects(list)
}

// List returns all objects, in any order.
func (s *Indexed) List() []*cache.Object { return objects(s.Indexer.List()) }

// Version is the resource version up to which the store is current.
func (s *Indexed) Version() string { return s.Current }

func objects(list []any) []*cache.Object {
	all := make([]*cache.Object, len(list))
	for i, o := range list {
		all[i] = o.(*cache.Object)
	}
	return all
}

// StoreOf returns a resource's store among these, nil if it isn't there; of [schema.Any] all of them as one, in the
// order of their resources.
func StoreOf[S Store](stores map[abi.Resource]S, r abi.Resource) Store {
	if r == schema.Any {
		all := Joint{}
		for _, r := range schema.Sorted(stores) {
			if res, err := schema.Named(r); err == nil {
				all = append(all, Part{stores[r], res})
			}
		}
		return all
	}
	if s, ok := stores[r]; ok {
		return s
	}
	return nil
}
