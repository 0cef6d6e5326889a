package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/host/schema"
)

// Reader is somebody's part in what is kept of a resource. It is safe for concurrent use.
type Reader struct {
	resource *resource
	mask     *schema.Mask
	filter   *Filter
	became   func(late bool)
	late     bool // others read the resource before, and became hasn't been called yet; guarded by the resource's mu
	current  atomic.Bool
	doubted  bool      // guarded, as the next two, by the resource's mu
	expired  bool      // until the resource is listed again
	since    time.Time // when it became what it is now: current, or not
	release  func()
}

func newReader(r *resource, mask *schema.Mask, w Want) *Reader {
	x := &Reader{resource: r, mask: mask, filter: w.Filter, became: w.Current, since: time.Now()}
	x.release = sync.OnceFunc(func() { r.release(x) })
	return x
}

// Current reports that the store has all objects, with all that the reader has declared of them, and that nobody doubts
// it: what isn't in the store isn't in the cluster. A store that is young, that is about to be replaced by a wider one,
// or that may be from before a Lease was taken isn't current.
func (x *Reader) Current() bool { return x.current.Load() }

// Lacking returns since when the reader hasn't been current; zero: it is.
func (x *Reader) Lacking() (since time.Time) {
	if x.Current() {
		return time.Time{}
	}
	x.resource.mu.Lock()
	defer x.resource.mu.Unlock()
	if x.Current() {
		return time.Time{}
	}
	return x.since
}

// Doubt has the reader not be current until Trust: somebody may know of later versions than the store does.
func (x *Reader) Doubt() { x.setFlag(&x.doubted, true) }

// Trust ends Doubt.
func (x *Reader) Trust() { x.setFlag(&x.doubted, false) }

// Expire has the reader not be current until the resource is listed again.
func (x *Reader) Expire() { x.setFlag(&x.expired, true) }

func (x *Reader) setFlag(flag *bool, to bool) {
	x.resource.mu.Lock()
	defer x.resource.mu.Unlock()
	*flag = to
	x.resource.updateReaders()
}

// Wait waits until the reader is current. It needs the context to end for a resource that can't be read; the error says
// why it can't.
func (x *Reader) Wait(ctx context.Context) error { return x.resource.awaitUntil(ctx, x.Current) }

// Release says that the reader has stopped reading; the last one stops the informer.
func (x *Reader) Release() { x.release() }

// updateReaders finds out for which readers the store is current, and tells those for which it has become so. The
// caller holds mu.
func (r *resource) updateReaders() {
	for x := range r.readers {
		now := r.feed != nil && r.feed.synced && !x.doubted && !x.expired && r.feed.selection.coversReader(x.mask, x.filter)
		was := x.current.Swap(now)
		if was != now {
			x.since = time.Now()
		}
		if !now || was {
			continue
		}
		r.wakeWaiting()
		if x.became != nil {
			go x.became(x.late)
			x.late = false
		}
	}
}

// emitGone tells handlers that those objects are which another version's store, which is current, doesn't have; nil:
// all.
func (r *resource) emitGone(by *Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.store.List() {
		var other *Object
		if by != nil {
			other = by.Get(o.Namespace, o.Name)
		}
		if other == nil || other.UID != o.UID {
			r.replaced(o, nil, false, false)
		}
	}
}
