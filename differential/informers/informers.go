// Package informers has shared informers that show what they are told to, when they are told to: client-go's listers
// and upstream's controllers work on them as on real ones, and handlers run before a call returns.
package informers

import (
	"context"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Set is a factory of informers and those that it has made.
type Set struct {
	Factory informers.SharedInformerFactory
	all     map[reflect.Type]*Informer
}

// New returns a factory without informers.
func New() *Set {
	return &Set{informers.NewSharedInformerFactory(nil, 0), map[reflect.Type]*Informer{}}
}

// Of returns the informer of an object's type, which the factory hands out from now on.
func (s *Set) Of(o runtime.Object) *Informer {
	t := reflect.TypeOf(o)
	if i := s.all[t]; i != nil {
		return i
	}
	i := &Informer{indexer: shuffled{cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}}
	s.Factory.InformerFor(o, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return i })
	s.all[t] = i
	return i
}

// Informer is a shared informer without a reflector.
type Informer struct {
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
}

var _ cache.SharedIndexInformer = &Informer{}

// shuffled is an indexer whose lists come in any order, each as often as any other. Client-go's come as Go's maps have
// them: of two objects the one that came first is first in seven of eight lists, and forty plays might not show what
// upstream's controller does when it is second.
type shuffled struct{ cache.Indexer }

func (s shuffled) List() []any { return shuffle(s.Indexer.List()) }

func (s shuffled) Index(name string, of any) ([]any, error) {
	all, err := s.Indexer.Index(name, of)
	return shuffle(all), err
}

func (s shuffled) ByIndex(name, value string) ([]any, error) {
	all, err := s.Indexer.ByIndex(name, value)
	return shuffle(all), err
}

func shuffle(all []any) []any {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Add shows an object that there was before the informer started, or that is new.
func (i *Informer) Add(o runtime.Object, initial bool) error {
	if err := i.indexer.Add(o); err != nil {
		return err
	}
	for _, h := range i.handlers {
		h.OnAdd(o, initial)
	}
	return nil
}

// Update shows another version of an object.
func (i *Informer) Update(old, now runtime.Object) error {
	if err := i.indexer.Update(now); err != nil {
		return err
	}
	for _, h := range i.handlers {
		h.OnUpdate(old, now)
	}
	return nil
}

// Delete shows that an object is gone.
func (i *Informer) Delete(o runtime.Object) error {
	if err := i.indexer.Delete(o); err != nil {
		return err
	}
	for _, h := range i.handlers {
		h.OnDelete(o)
	}
	return nil
}

type registration struct{}

func (registration) HasSynced() bool                     { return true }
func (registration) HasSyncedChecker() cache.DoneChecker { return done{} }

type done struct{}

func (done) Name() string { return "informer" }

func (done) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (i *Informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return registration{}, nil
}

func (i *Informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	_ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *Informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler,
	_ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *Informer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }
func (i *Informer) GetStore() cache.Store                                           { return i.indexer }
func (i *Informer) GetIndexer() cache.Indexer                                       { return i.indexer }
func (i *Informer) AddIndexers(x cache.Indexers) error                              { return i.indexer.AddIndexers(x) }
func (i *Informer) GetController() cache.Controller                                 { return nil }
func (i *Informer) Run(<-chan struct{})                                             {}
func (i *Informer) RunWithContext(context.Context)                                  {}
func (i *Informer) HasSynced() bool                                                 { return true }
func (i *Informer) HasSyncedChecker() cache.DoneChecker                             { return done{} }
func (i *Informer) LastSyncResourceVersion() string                                 { return "" }
func (i *Informer) SetWatchErrorHandler(cache.WatchErrorHandler) error              { return nil }
func (i *Informer) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return nil
}
func (i *Informer) SetTransform(cache.TransformFunc) error { return nil }
func (i *Informer) IsStopped() bool                        { return false }

// Bookmark tells all informers' stores that they are current up to a version.
func (s *Set) Bookmark(version string) {
	for _, i := range s.all {
		i.indexer.Bookmark(version)
	}
}
