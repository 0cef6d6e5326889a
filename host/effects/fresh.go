package effects

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

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
	next    map[scope]*sharedListing // that wait for their turns: a scope is listed once at a time
	running map[scope]*sharedListing
	latest  map[scope]*sharedListing       // the last that began for a shared question, until none has wanted it for long
	changed map[abi.Resource]chan struct{} // closed when the store moves
}

// scope is what is listed: a resource, in one namespace or all.
type scope struct {
	resource  abi.Resource
	namespace string
}

// sharedListing is one listing, shared by all who asked before it began, and by those with a shared question that is
// about nothing newer.
type sharedListing struct {
	apiserver.Listing
	err  error
	done chan struct{} // closed when it is there, or isn't

	// guarded by the freshness's mu
	keys  abi.Resource // of the key view, and up to which version its cache was current when the list began
	known string
	shown string    // the version of the store that shows all that is listed; "": it doesn't yet
	used  time.Time // last
}

// keptFor is for how long a listing is kept that no shared question has wanted.
const keptFor = time.Minute

// lister is a store that can tell what it holds; *cache.Store is one.
type lister interface {
	List() []*cache.Object
}

// waitForFresh waits until the cache of the view that is asked is not older than the question. Of a shared question
// about is the version of the key's object: the cache may be older, but not than the time when that came.
func (w *Writer) waitForFresh(ctx context.Context, a *abi.Ask, about string) error {
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
	s := scope{v.Resource, strings.Clone(a.Namespace)}
	l := w.listing(ctx, s, about, store)
	if l.err != nil {
		return fmt.Errorf("view %s: listing %s to see whether the cache is fresh: %w", v.Name, v.Resource, l.err)
	}

	for {
		changed := w.news.watch(v.Resource)
		version := store.Version()
		if w.news.hasShown(l, version) {
			return nil
		}
		if l.UIDs != nil && shows(store, a.Namespace, &l.Listing) {
			w.news.noteShown(l, s, version)
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

// listing returns a list that began after it was called, or after the cache of the keys had reached the version about.
func (w *Writer) listing(ctx context.Context, s scope, about string, store Store) *sharedListing {
	l, mine, before := w.joinListing(s, about, store)
	if !mine {
		<-l.done
		return l
	}

	if before != nil {
		<-before.done // while it runs, more may join this one
	}
	w.beginListing(l, s, about != "")
	defer w.news.end(l, s)
	// The list outlives the sync that began it, for the others' sake.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
	defer cancel()
	l.err = w.readListing(ctx, &l.Listing, s)
	return l
}

// joinListing returns a list that will do. One that is the caller's has yet to be made, once the one before it is done,
// if there is any.
func (w *Writer) joinListing(s scope, about string, store Store) (l *sharedListing, mine bool,
	before *sharedListing) {

	f := &w.news
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.latest[s]; l != nil && w.covers(l, about) && (l.shown == "" || reached(store.Version(), l.shown)) {
		l.used = time.Now()
		return l, false, nil
	}
	if l := f.next[s]; l != nil {
		return l, false, nil
	}

	if f.next == nil {
		f.next, f.running, f.latest = map[scope]*sharedListing{}, map[scope]*sharedListing{}, map[scope]*sharedListing{}
	}
	l = &sharedListing{done: make(chan struct{})}
	f.next[s] = l
	return l, true, f.running[s]
}

// beginListing has a list begin: who asks from here on may ask for what it doesn't see. A shared one is kept.
func (w *Writer) beginListing(l *sharedListing, s scope, shared bool) {
	f := &w.news
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.next, s)
	f.running[s] = l
	if shared {
		w.keep(l, s)
	}
}

// end says that a list is there, or isn't.
func (f *freshness) end(l *sharedListing, s scope) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, s)
	if l.err != nil && f.latest[s] == l {
		delete(f.latest, s)
	}
	close(l.done)
}

// keep has a listing that is about to begin do for shared questions, and forgets those that nobody has wanted for long.
// The caller holds the lock.
func (w *Writer) keep(l *sharedListing, s scope) {
	f, now := &w.news, time.Now()
	for of, other := range f.latest {
		if now.Sub(other.used) > keptFor {
			delete(f.latest, of)
		}
	}

	l.keys, l.used = w.keyResource(), now
	if store := w.watchedStore(l.keys); store != nil {
		l.known = store.Version()
	}
	f.latest[s] = l
}

// covers reports whether a list began when the cache of the keys had reached the version. Of a cache that has gone back
// since nothing is known.
func (w *Writer) covers(l *sharedListing, version string) bool {
	keys := w.watchedStore(l.keys)
	return version != "" && l.keys == w.keyResource() && reached(l.known, version) &&
		keys != nil && reached(keys.Version(), l.known)
}

// reached reports whether a version isn't older than another one.
func reached(version, other string) bool {
	c, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && c >= 0
}

// keyResource is the resource of the objects that are the controller's keys.
func (w *Writer) keyResource() abi.Resource {
	return w.Controller.Views[w.Controller.Key.View].Resource
}

// hasShown reports whether a store of that version is known to show all that is listed: not any more if it has gone
// back.
func (f *freshness) hasShown(l *sharedListing, version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return l.shown != "" && reached(version, l.shown)
}

// noteShown notes that a store of that version shows all that is listed. What it was is kept no longer than by those
// who are about to see it themselves.
func (f *freshness) noteShown(l *sharedListing, s scope, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l.shown = version
	if f.latest[s] == l {
		f.latest[s] = &sharedListing{done: l.done, keys: l.keys, known: l.known, shown: version, used: l.used}
	}
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
