package effects

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
)

// barriers remember, per key, what the cache has to show before the key is synced again.
//
// An older snapshot would not have the pods that the last sync created, and the next sync would create them again.
// Waiting keys are parked and looked at when a store moves; nothing polls.
type barriers struct {
	leader atomic.Pointer[Writer] // of the present version

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
	gone     []gone
	behind   []behind

	wake  []func()
	since time.Time // parked since
	timer *time.Timer
}

// gone is an object that a write has removed.
type gone struct {
	resource        abi.Resource
	namespace, name string
	uid             string
	deleted         bool   // by a delete or an eviction: being deleted is enough
	version         string // of a delete whose answer had one: reaching it is enough, too
}

// behind is an object whose cached form was refuted by the server.
type behind struct {
	resource        abi.Resource
	namespace, name string
	version         string // in the cache at that time, "" for none
	until           time.Time
}

func (b *barriers) init(w *Writer) {
	b.leader.Store(w)
	b.keys = map[abi.KeyRef]*barrier{}
	b.parked = map[abi.Resource]map[abi.KeyRef]struct{}{}
	b.stores = map[abi.Resource]string{}
	b.ctx, b.end = context.WithCancel(context.Background())
}

func (b *barriers) close() {
	b.end()
	b.clear()
}

// clear has nobody wait any more, and wakes nobody.
func (b *barriers) clear() {
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

func (b *barriers) barrierOf(key abi.KeyRef) *barrier {
	k := b.keys[key]
	if k == nil {
		k = &barrier{versions: map[abi.Resource]string{}}
		b.keys[key.Clone()] = k
	}
	return k
}

// written notes a version that the resource's store has to reach.
func (b *barriers) written(key abi.KeyRef, r abi.Resource, version string) {
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

// removed notes an object that has to leave the store.
func (b *barriers) removed(key abi.KeyRef, g gone) {
	if g.uid == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.barrierOf(key)
	k.gone = append(k.gone, g)
}

// awaitChange notes an object that should change in the store soon.
func (b *barriers) awaitChange(key abi.KeyRef, o behind) {
	o.until = time.Now().Add(b.leader.Load().StaleWait)
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.barrierOf(key)
	k.behind = append(k.behind, o)
}

// satisfied drops what the cache shows by now, up to the first thing that it doesn't show, and tells whether nothing is
// left.
//
// It is asked at each event of a resource that the key waits for: a key that has removed 500 objects mustn't look at
// all of them 500 times. So it looks at the last one until that is gone, and at no other.
func (b *barriers) satisfied(k *barrier) bool {
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
	for n := len(k.behind); n > 0; n-- {
		if b.stillBehind(k.behind[n-1]) {
			return false
		}
		k.behind = k.behind[:n-1]
	}
	return true
}

// pruneReached drops all that the cache shows by now.
func (b *barriers) pruneReached(k *barrier) {
	maps.DeleteFunc(k.versions, b.reached)
	k.gone = slices.DeleteFunc(k.gone, b.isDeleted)
	k.behind = slices.DeleteFunc(k.behind, func(o behind) bool { return !b.stillBehind(o) })
}

func (b *barriers) reached(r abi.Resource, version string) bool {
	store := b.leader.Load().watchedStore(r)
	if store == nil {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(store.Version(), version)
	return err != nil || c >= 0
}

func (b *barriers) isDeleted(g gone) bool {
	store := b.leader.Load().watchedStore(g.resource)
	if store == nil {
		return true
	}
	if g.version != "" && b.reached(g.resource, g.version) {
		return true
	}
	o := store.Get(g.namespace, g.name)
	if o == nil || string(o.UID) != g.uid {
		return true
	}
	if !g.deleted {
		return false
	}
	return envelope.IsDeleting(o.Raw)
}

func (b *barriers) stillBehind(o behind) bool {
	store := b.leader.Load().watchedStore(o.resource)
	if store == nil || !time.Now().Before(o.until) {
		return false
	}
	if store.Version() == "" {
		return false // it doesn't know anything (yet)
	}
	now := store.Get(o.namespace, o.name)
	if now == nil {
		return o.version == ""
	}
	return now.ResourceVersion == o.version
}

// Ready reports whether the cache shows everything that the key's syncs have written.
func (w *Writer) Ready(key abi.KeyRef) bool {
	b := &w.wait
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.keys[key]
	if k == nil {
		return true
	}
	if !b.satisfied(k) {
		return false
	}
	b.release(key, k)
	return true
}

// Behind is a resource of which the cache doesn't show yet what the key's syncs have written; none if it does.
func (w *Writer) Behind(key abi.KeyRef) abi.Resource {
	b := &w.wait
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.keys[key]; k != nil {
		b.pruneReached(k)
		for r := range k.resources() {
			return r
		}
	}
	return abi.Resource{}
}

// Park calls wake once, when the key is ready: at once if it is already.
func (w *Writer) Park(key abi.KeyRef, wake func()) {
	b := &w.wait
	b.mu.Lock()
	k := b.keys[key]
	if k == nil || b.satisfied(k) {
		var wakes []func()
		if k != nil {
			wakes = b.release(key, k)
		}
		b.mu.Unlock()
		for _, f := range append(wakes, wake) {
			f()
		}
		return
	}
	defer b.mu.Unlock()
	b.pruneReached(k)
	key = key.Clone()
	k.wake = append(k.wake, wake)
	if k.since.IsZero() {
		k.since = time.Now()
	}

	for r := range k.resources() {
		if b.parked[r] == nil {
			b.parked[r] = map[abi.KeyRef]struct{}{}
			if store := w.watchedStore(r); store != nil {
				b.stores[r] = store.Version()
			}
		}
		b.parked[r][key] = struct{}{}
	}
	b.schedule(key, k)
}

func (k *barrier) resources() map[abi.Resource]bool {
	m := map[abi.Resource]bool{}
	for r := range k.versions {
		m[r] = true
	}
	for _, g := range k.gone {
		m[g.resource] = true
	}
	for _, o := range k.behind {
		m[o.resource] = true
	}
	return m
}

// release forgets a key and returns those who wait for it.
func (b *barriers) release(key abi.KeyRef, k *barrier) []func() {
	if k.timer != nil {
		k.timer.Stop()
	}
	if !k.since.IsZero() && b.leader.Load().Metrics.Waited != nil {
		b.leader.Load().Metrics.Waited(time.Since(k.since))
	}
	delete(b.keys, key)
	for r, keys := range b.parked {
		if delete(keys, key); len(keys) == 0 {
			delete(b.parked, r)
		}
	}
	return k.wake
}

// schedule has a parked key looked at when its patience with a stale cache ends, and compared with the server after
// LiveCheck.
func (b *barriers) schedule(key abi.KeyRef, k *barrier) {
	after := b.leader.Load().LiveCheck
	for _, o := range k.behind {
		after = min(after, time.Until(o.until))
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	live := len(k.behind) == 0
	k.timer = time.AfterFunc(max(after, time.Millisecond), func() {
		if live {
			b.compare(key)
		}
		b.releaseIfReady(key)
	})
}

// releaseIfReady releases the key if it is ready, else goes on waiting.
func (b *barriers) releaseIfReady(key abi.KeyRef) {
	b.mu.Lock()
	k := b.keys[key]
	if k == nil || b.ctx.Err() != nil {
		b.mu.Unlock()
		return
	}
	if !b.satisfied(k) {
		b.pruneReached(k) // else it would be looked at again at once for what has expired
		b.schedule(key, k)
		b.mu.Unlock()
		return
	}
	wakes := b.release(key, k)
	b.mu.Unlock()
	for _, f := range wakes {
		f()
	}
}

// Progress looks at the keys that wait for a resource; the cache calls it after each change of the resource's store,
// unchanged objects included, and not under the store's lock.
func (w *Writer) Progress(r abi.Resource) {
	w.news.notifyMoved(r)
	b := &w.wait
	b.mu.Lock()
	keys := b.parked[r]
	if len(keys) == 0 {
		b.mu.Unlock()
		return
	}
	back := b.wentBack(r)
	var wakes []func()
	for key := range keys {
		k := b.keys[key]
		if back {
			k.forgetResource(r)
		}
		if b.satisfied(k) {
			wakes = append(wakes, b.release(key, k)...)
		}
	}
	b.mu.Unlock()
	for _, f := range wakes {
		f()
	}
}

// wentBack reports whether the store has an older version than before: etcd was restored, and what was written then may
// never be seen.
func (b *barriers) wentBack(r abi.Resource) bool {
	store := b.leader.Load().watchedStore(r)
	if store == nil {
		return false
	}
	version, last := store.Version(), b.stores[r]
	b.stores[r] = version
	c, err := resourceversion.CompareResourceVersion(version, last)
	return err == nil && c < 0
}

// forgetResource drops what the key waits for in a resource.
func (k *barrier) forgetResource(r abi.Resource) {
	delete(k.versions, r)
	k.gone = slices.DeleteFunc(k.gone, func(g gone) bool { return g.resource == r })
}

// compare asks the server about what a key has waited long for. It logs the delay, and drops a wait that can't end: for
// the end of an object that still lives, or for a version that the server doesn't have (any more).
func (b *barriers) compare(key abi.KeyRef) {
	b.mu.Lock()
	k := b.keys[key]
	if k == nil {
		b.mu.Unlock()
		return
	}

	b.pruneReached(k)
	waited := time.Since(k.since)
	objects := append([]gone(nil), k.gone...)
	versions := map[abi.Resource]string{}
	for r, v := range k.versions {
		versions[r] = v
	}

	b.mu.Unlock()
	log := b.leader.Load().log.WithValues("key", key.String(), "waited", waited.Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(b.ctx, b.leader.Load().Timeout)
	defer cancel()
	var lives []gone
	for _, g := range objects {
		res, err := b.leader.Load().resource(g.resource.String())
		if err != nil {
			continue
		}
		raw, err := b.leader.Load().readLive(ctx, res, g.namespace, g.name)
		if err != nil {
			log.Error(err, "Can't compare a slow cache with the server", "resource", g.resource.String(), "object",
				g.namespace+"/"+g.name)
			continue
		}
		m, err := envelope.ReadMeta(raw)
		if err == nil && raw != nil && m.UID == g.uid && !(g.deleted && m.Deleting) {
			log.Info("Stopped waiting for the end of an object that lives", "resource", g.resource.String(), "object",
				g.namespace+"/"+g.name)
			lives = append(lives, g)
			continue
		}
		log.Info("The cache doesn't show a removal yet", "resource", g.resource.String(), "object", g.namespace+"/"+g.name)
	}

	var ahead []abi.Resource
	for r, v := range versions {
		now, err := b.leader.Load().liveVersion(ctx, r)
		if err != nil {
			log.Error(err, "Can't compare a slow cache with the server", "resource", r.String())
			continue
		}
		if c, err := resourceversion.CompareResourceVersion(now, v); err == nil && c < 0 {
			log.Info("Stopped waiting for a version that the server doesn't have", "resource", r.String(), "version", v,
				"server", now)
			ahead = append(ahead, r)
			continue
		}
		log.Info("The cache doesn't show a write yet", "resource", r.String(), "version", v, "server", now)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if k = b.keys[key]; k == nil {
		return
	}

	for _, r := range ahead {
		if k.versions[r] == versions[r] {
			delete(k.versions, r)
		}
	}
	k.gone = slices.DeleteFunc(k.gone, func(g gone) bool { return slices.Contains(lives, g) })
}
