package barrier

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
)

// Barriers remember, per key, what the cache has to show before the key is synced again.
type Barriers struct {
	sight atomic.Pointer[Sight] // of the present version

	mu     sync.Mutex
	keys   map[abi.KeyRef]*barrier
	parked map[abi.Resource]map[abi.KeyRef]struct{}
	stores map[abi.Resource]string // the version last seen of each store that is waited for
	ctx    context.Context
	end    context.CancelFunc
}

// barrier is what one key waits for.
type barrier struct {
	versions map[abi.Resource]string // the highest version written, by resource
	gone     []Gone
	stale    []stale

	wake  []func()
	since time.Time // parked since
	timer *time.Timer
}

// Gone is an object that a write has removed.
type Gone struct {
	Resource        abi.Resource
	Namespace, Name string
	UID             string
	Deleted         bool   // by a delete or an eviction: being deleted is enough, if nothing says more
	Version         string // of a delete whose answer had one: it may have been deleted before, so reaching this is enough
}

// Stale is an object whose cached form was refuted by the server.
type Stale struct {
	Resource        abi.Resource
	Namespace, Name string
	Version         string // in the cache at that time, "" for none
}

// stale is such an object, and until when a key waits for it to change.
type stale struct {
	Stale
	until time.Time
}

// New makes the barriers of a controller, one version of which sees the cluster so. CloseOf ends them.
func New(s *Sight) *Barriers {
	b := &Barriers{keys: map[abi.KeyRef]*barrier{}, parked: map[abi.Resource]map[abi.KeyRef]struct{}{},
		stores: map[abi.Resource]string{}}
	b.sight.Store(s)
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

// Lead makes another version's sight the one by which keys' writes are waited for.
func (b *Barriers) Lead(s *Sight) { b.sight.Store(s) }

// CloseOf ends the waiting, unless another version's sight leads; it reports whether it did.
func (b *Barriers) CloseOf(s *Sight) (ended bool) {
	if b.sight.Load() != s {
		return false
	}
	b.end()
	b.Clear()
	return true
}

// Clear has nobody wait any more, and wakes nobody.
func (b *Barriers) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.keys {
		if k.timer != nil {
			k.timer.Stop()
		}
	}
	clear(b.keys)
	clear(b.parked)
}

func (b *Barriers) barrierOf(key abi.KeyRef) *barrier {
	k := b.keys[key]
	if k == nil {
		k = &barrier{versions: map[abi.Resource]string{}}
		b.keys[key.Clone()] = k
	}
	return k
}

// Written notes a version that the resource's store has to reach.
func (b *Barriers) Written(key abi.KeyRef, r abi.Resource, version string) {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return // a version that can't be compared can't be waited for
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.barrierOf(key)
	if old := k.versions[r]; old != "" {
		if c, err := resourceversion.CompareResourceVersion(version, old); err == nil && c <= 0 {
			return
		}
	}
	k.versions[r] = version
}

// Removed notes an object that has to leave the store.
func (b *Barriers) Removed(key abi.KeyRef, g Gone) {
	if g.UID == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.barrierOf(key)
	k.gone = append(k.gone, g)
}

// AwaitChange notes an object that should change in the store soon.
func (b *Barriers) AwaitChange(key abi.KeyRef, o Stale) {
	// Cloned: a guest's strings may point into a buffer that is used again.
	o.Namespace, o.Name = strings.Clone(o.Namespace), strings.Clone(o.Name)
	until := time.Now().Add(b.sight.Load().StaleWait)
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.barrierOf(key)
	k.stale = append(k.stale, stale{o, until})
}

// satisfied drops what the cache shows by now, up to the first thing that it doesn't show, and tells whether nothing is
// left.
//
// It is asked at each event of a resource that the key waits for: a key that has removed 500 objects mustn't look at
// all of them 500 times. So it looks at the last one until that is gone, and at no other.
func (b *Barriers) satisfied(k *barrier) bool {
	for r, version := range k.versions {
		if !b.reached(r, version) {
			return false
		}
		delete(k.versions, r)
	}
	for n := len(k.gone); n > 0; n-- {
		if !b.isDeleted(k.gone[n-1]) {
			return false
		}
		k.gone = k.gone[:n-1]
	}
	for n := len(k.stale); n > 0; n-- {
		if b.isStillStale(k.stale[n-1]) {
			return false
		}
		k.stale = k.stale[:n-1]
	}
	return true
}

// pruneReached drops all that the cache shows by now.
func (b *Barriers) pruneReached(k *barrier) {
	maps.DeleteFunc(k.versions, b.reached)
	k.gone = slices.DeleteFunc(k.gone, b.isDeleted)
	k.stale = slices.DeleteFunc(k.stale, func(o stale) bool { return !b.isStillStale(o) })
}

func (b *Barriers) reached(r abi.Resource, version string) bool {
	store := b.sight.Load().Store(r)
	if store == nil {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(store.Version(), version)
	return err != nil || c >= 0
}

func (b *Barriers) isDeleted(g Gone) bool {
	store := b.sight.Load().Store(g.Resource)
	if store == nil {
		return true
	}
	if g.Version != "" && b.reached(g.Resource, g.Version) {
		return true
	}
	o := store.Get(g.Namespace, g.Name)
	if o == nil || string(o.UID) != g.UID {
		return true
	}
	if !g.Deleted || g.Version != "" {
		return false
	}
	return envelope.IsDeleting(o.Raw)
}

func (b *Barriers) isStillStale(o stale) bool {
	store := b.sight.Load().Store(o.Resource)
	if store == nil || !time.Now().Before(o.until) {
		return false
	}
	if store.Version() == "" {
		return false // it doesn't know anything (yet)
	}
	now := store.Get(o.Namespace, o.Name)
	if now == nil {
		return o.Version == ""
	}
	return now.ResourceVersion == o.Version
}
