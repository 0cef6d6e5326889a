package cache

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// resource is one resource with its readers. All that changes its store does so under mu, so that handlers hear of
// changes in the order of the store.
type resource struct {
	name    abi.Resource
	id      string // the name as a text, by which resources are sorted
	message *schema.Message
	store   *Store
	source  func(*decoder) (clientcache.ListerWatcher, error)

	mu       sync.Mutex
	schema   *schema.Resource
	readers  map[*Reader]struct{}
	wanted   *selection // what the readers want, nil without any
	indexers *indexers
	feed     *feed // fills the store, nil while it isn't running
	wider    *feed // is to take over
	handlers []*subscription
	progress []*func() // copied when it changes
	changed  chan struct{}
	err      error
	lost     func(*Object) // takes objects that were deleted; nil: nobody does
	forget   func()        // is called when the collection has gone back in time
	told     *atomic.Int64 // when handlers were told of an event last, in nanoseconds
}

func newResource(s *schema.Resource, source func(*decoder) (clientcache.ListerWatcher, error)) *resource {
	r := &resource{name: s.Resource, id: s.Resource.String(), message: s.Message, schema: s, source: source,
		told: new(atomic.Int64), changed: make(chan struct{}), readers: map[*Reader]struct{}{}}
	r.store = &Store{resource: r}
	r.store.contents.Store(newContents(nil))
	return r
}

func (r *resource) declare(x *Reader, started context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.late = r.feed != nil
	if !r.wanted.coversReader(x.mask, x.filter) {
		next := r.wanted.withReader(x.mask, x.filter)
		if started != nil {
			if err := r.startInformer(started, next); err != nil {
				return err
			}
		}
		r.wanted = next
	}
	r.readers[x] = struct{}{}
	r.updateReaders()
	return nil
}

// learnSchema takes in a kind and a scope that weren't known, or have become others: each object says them, so the
// informer begins anew.
func (r *resource) learnSchema(s *schema.Resource, started context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Kind == "" || r.schema.Kind == s.Kind && r.schema.Namespaced == s.Namespaced {
		return nil
	}
	r.schema = s
	if started == nil || r.feed == nil {
		return nil
	}
	return r.startInformer(started, r.wanted)
}

func (r *resource) start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.readers) == 0 || r.feed != nil {
		return nil
	}
	return r.startInformer(ctx, r.wanted)
}

// startInformer starts an informer with the selection: the second one if the first has something to hand over.
func (r *resource) startInformer(ctx context.Context, s *selection) error {
	contents := r.store.contents.Load()
	second := r.feed != nil && r.feed.synced
	if second {
		contents = newContents(r.indexers)
	}
	f, err := newFeed(r, s, contents)
	if err != nil {
		return err
	}
	if second {
		r.wider.stop()
		r.wider = f
	} else {
		r.feed.stop()
		r.feed = f
	}
	r.updateReaders()
	f.start(ctx)
	return nil
}

func (r *resource) release(x *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.current.Store(false)
	if delete(r.readers, x); len(r.readers) > 0 {
		return
	}
	r.feed.stop()
	r.wider.stop()
	r.feed, r.wider, r.wanted, r.indexers, r.err = nil, nil, nil, nil, nil
	r.store.contents.Store(newContents(nil))
}

func (r *resource) waitForSync(ctx context.Context) error { return r.awaitUntil(ctx, r.complete) }

// awaitUntil waits until something is so, which is asked under mu; what it hangs on calls wakeWaiting. The error says
// why the resource can't be read, where that is why.
func (r *resource) awaitUntil(ctx context.Context, so func() bool) error {
	for {
		done, changed, err := r.ask(so)
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("waiting for %s: %w", r.name, err)
		}
	}
}

// ask returns whether something is so, and what to wait for if it isn't.
func (r *resource) ask(so func() bool) (done bool, changed chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return so(), r.changed, r.err
}

// complete reports that the store has all objects, with all that was declared of them.
func (r *resource) complete() bool { return r.feed != nil && r.feed.synced && r.wider == nil }

func (r *resource) wakeWaiting() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *resource) addHandler(h Handler) (remove func()) {
	s := subscribe(h)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers = append(r.handlers, s)
	if r.wider != nil {
		s.deferred = true
	} else {
		r.introduce(s)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.stop()
		r.handlers = slices.DeleteFunc(r.handlers, func(x *subscription) bool { return x == s })
	}
}

// stopHandlers ends what tells the handlers of events.
func (r *resource) stopHandlers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.handlers {
		s.stop()
	}
	r.handlers = nil
}

// introduce tells a handler of all objects.
func (r *resource) introduce(s *subscription) {
	all := r.store.List()
	events := make([]Event, len(all))
	for i, o := range all {
		events[i] = Event{Resource: r.schema, New: o, Initial: true}
	}
	s.push(events...)
}

func (r *resource) onProgress(f func()) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(slices.Clone(r.progress), &f)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.progress = slices.DeleteFunc(slices.Clone(r.progress), func(x *func()) bool { return x == &f })
	}
}

func (r *resource) status() (ResourceStatus, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.store.contents.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	waiting := int64(0)
	for _, s := range r.handlers {
		waiting += s.queued.Load()
	}
	return ResourceStatus{
		Resource: r.name, Synced: r.complete(), Objects: len(c.places), Bytes: c.bytes, Waiting: waiting, Version: c.version,
		Err: r.err,
	}, len(r.readers) > 0
}

// reportError takes note of why the resource can't be read, or that it can (nil). It logs changes only: a resource that
// isn't served is asked for again and again.
func (r *resource) reportError(f *feed, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.dead || err == nil && r.err == nil || err != nil && r.err != nil && err.Error() == r.err.Error() {
		return
	}
	r.err = err
	r.wakeWaiting()
	if err != nil {
		klog.InfoS("Can't list and watch the resource, will retry", "resource", r.name.String(), "err", err)
	} else {
		klog.InfoS("Resource can be read again", "resource", r.name.String())
	}
}

// replaced tells the handlers of one object's change. A name that passed to another object is a delete and an add; an
// object that isn't kept any longer is gone. moved says, of an object without old or without new, what [Event] says.
func (r *resource) replaced(old, new *Object, initial, moved bool) {
	if new != nil && !new.isWanted() {
		moved = old != nil && old.UID == new.UID
		new = nil
	}
	if old != nil && !moved && (new == nil || new.UID != old.UID) && r.lost != nil {
		r.lost(old)
	}
	switch {
	case old == nil && new == nil:
	case old != nil && new != nil && old.UID != new.UID:
		r.emitEvent(Event{Resource: r.schema, Old: old})
		r.emitEvent(Event{Resource: r.schema, New: new})
	case old != nil && new != nil && bytes.Equal(old.Raw, new.Raw):
	default:
		r.emitEvent(Event{Resource: r.schema, Old: old, New: new, Initial: initial,
			Moved: moved && !initial && (old == nil || new == nil)})
	}
}

func (r *resource) emitEvent(e Event) {
	r.told.Store(time.Now().UnixNano())
	for _, s := range r.handlers {
		if !s.deferred {
			s.push(e)
		}
	}
}

// takeOver makes the second informer the resource's own once it is as current as the first, which stops before, so that
// it can't get ahead again.
func (r *resource) takeOver() {
	first, second := r.feed, r.wider
	if !second.synced {
		return
	}

	first.stop()
	if order, err := resourceversion.CompareResourceVersion(second.contents.version, first.contents.version); err == nil &&
		order < 0 {
		return // it will hear of what the first has heard of
	}

	r.feed, r.wider = second, nil
	r.store.contents.Store(second.contents)
	for _, o := range first.contents.list() {
		if second.contents.get(o.Namespace, o.Name) == nil {
			r.replaced(o, nil, false, second.decoder.dropsObjects())
		}
	}

	var narrow []byte
	for _, o := range second.contents.list() {
		old := first.contents.get(o.Namespace, o.Name)
		var kept bool
		var err error
		narrow, kept, err = first.decoder.narrowObject(narrow[:0], o)
		if err == nil && (old == nil && !kept || old != nil && kept && bytes.Equal(narrow, old.Raw)) {
			continue // nothing new for those who have been there before
		}
		r.replaced(old, o, false, first.decoder.dropsObjects())
	}

	for _, s := range r.handlers {
		if s.deferred {
			s.deferred = false
			r.introduce(s)
		}
	}

	r.updateReaders()
	r.wakeWaiting()
}
