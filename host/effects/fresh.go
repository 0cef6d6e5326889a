package effects

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
)

// freshness lets questions that must not be answered from an old cache wait for it.
//
// The version of a collection is no measure: of a resource in which nothing happens the cache learns it from a
// bookmark, once a minute. So the cache is compared with the metadata of a consistent list: it is as new as that when
// it has reached the newest object in it, and holds none that isn't in it any more.
type freshness struct {
	mu      sync.Mutex
	next    map[scope]*sharedListing
	turns   map[scope]*turn
	changed map[abi.Resource]chan struct{} // closed when the store moves
}

// scope is what is listed: a resource, in one namespace or all.
type scope struct {
	resource  abi.Resource
	namespace string
}

// sharedListing is one listing, shared by all who asked before it began.
type sharedListing struct {
	apiserver.Listing
	once sync.Once
	err  error
}

// lister is a store that can tell what it holds; *cache.Store is one.
type lister interface {
	List() []*cache.Object
}

// turn lets one list of a scope run at a time. It is forgotten when nobody lists that scope any more: scopes are what
// guests ask for, and there is no end of them.
type turn struct {
	sync.Mutex
	users int // guarded by the freshness's mu
}

// waitForFresh waits until the cache of the view that is asked is not older than the question.
func (w *Writer) waitForFresh(ctx context.Context, a *abi.Ask) error {
	if a.View < 0 || int(a.View) >= len(w.Controller.Views) {
		return nil // the answer says so
	}
	v := &w.Controller.Views[a.View]
	store := w.watchedStore(v.Resource)
	if store == nil {
		return nil
	}

	if !isSegment(a.Namespace) {
		return nil // there is no such namespace, and none can come
	}
	if err := overLimit("a name", len(a.Namespace), nameMax); err != nil {
		return err
	}

	ctx, awaited := awaiting.Begin(ctx, named("list "+v.Resource.String()))
	defer awaited.End()
	awaited.Sent()
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	l := w.listing(ctx, scope{v.Resource, strings.Clone(a.Namespace)})
	if l.err != nil {
		return fmt.Errorf("view %s: listing %s to see whether the cache is fresh: %w", v.Name, v.Resource, l.err)
	}

	for {
		changed := w.news.watch(v.Resource)
		if shows(store, a.Namespace, &l.Listing) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("view %s: the cache of %s is at resourceVersion %s, behind the API server's %s: %w",
				v.Name, v.Resource, store.Version(), l.Version, context.Cause(ctx))
		}
	}
}

// listing returns a list that began after it was called.
func (w *Writer) listing(ctx context.Context, s scope) *sharedListing {
	f := &w.news
	f.mu.Lock()
	if f.next == nil {
		f.next, f.turns = map[scope]*sharedListing{}, map[scope]*turn{}
	}

	l, t := f.next[s], f.turns[s]
	if l == nil {
		l = &sharedListing{}
		f.next[s] = l
	}

	if t == nil {
		t = &turn{}
		f.turns[s] = t
	}
	t.users++
	f.mu.Unlock()

	l.once.Do(func() {
		t.Lock() // while another list runs, more may join this one
		defer t.Unlock()
		f.mu.Lock()
		delete(f.next, s) // who asks from here on may ask for what this one doesn't see
		f.mu.Unlock()
		// The list outlives the sync that began it, for the others' sake.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
		defer cancel()
		l.err = w.readListing(ctx, &l.Listing, s)
	})

	f.mu.Lock()
	defer f.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(f.turns, s)
	}
	return l
}

// readListing reads all pages of a list, each as one of the controller's requests.
func (w *Writer) readListing(ctx context.Context, l *apiserver.Listing, s scope) error {
	for next := ""; ; {
		err := w.awaitRequest(ctx)
		if err != nil {
			return err
		}
		if next, err = l.ReadPage(ctx, w.reader, s.resource, s.namespace, next); err != nil || next == "" {
			return err
		}
	}
}

// shows reports whether the store shows everything of a namespace, or of all, that the list shows.
func shows(store Store, namespace string, l *apiserver.Listing) bool {
	now := store.Version()
	if now == "" {
		return false
	}

	if c, err := resourceversion.CompareResourceVersion(now, l.Version); err != nil || c >= 0 {
		return true
	}
	if l.Newest != "" {
		if c, err := resourceversion.CompareResourceVersion(now, l.Newest); err == nil && c < 0 {
			return false
		}
	}

	held, ok := store.(lister)
	if !ok {
		return false
	}

	for _, o := range held.List() {
		if namespace != "" && o.Namespace != namespace {
			continue
		}
		if _, ok := l.UIDs[string(o.UID)]; ok {
			continue
		}
		// Not in the list: it is gone, unless it came later.
		if c, err := resourceversion.CompareResourceVersion(o.ResourceVersion, l.Version); err == nil && c < 0 {
			return false
		}
	}
	return true
}

// watch returns a channel that is closed when the resource's store moves next.
func (f *freshness) watch(r abi.Resource) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = map[abi.Resource]chan struct{}{}
	}
	if f.changed[r] == nil {
		f.changed[r] = make(chan struct{})
	}
	return f.changed[r]
}

func (f *freshness) notifyMoved(r abi.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.changed[r]; c != nil {
		close(c)
		delete(f.changed, r)
	}
}
