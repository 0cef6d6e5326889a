package barrier

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/windlass-dev/windlass/abi"
)

// Ready reports whether the cache shows everything that the key's syncs have written.
func (b *Barriers) Ready(key abi.KeyRef) bool {
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
func (b *Barriers) Behind(key abi.KeyRef) abi.Resource {
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
func (b *Barriers) Park(key abi.KeyRef, wake func()) {
	for _, f := range b.parkOrRelease(key, wake) {
		f()
	}
}

// parkOrRelease has a key wait that isn't ready, and returns what is to be called of one that is.
func (b *Barriers) parkOrRelease(key abi.KeyRef, wake func()) (wakes []func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.keys[key]
	switch {
	case k == nil:
		return []func(){wake}
	case b.satisfied(k):
		return append(b.release(key, k), wake)
	}
	b.pruneReached(k)
	key = key.Clone()
	k.wake = append(k.wake, wake)
	if k.since.IsZero() {
		k.since = time.Now()
	}

	for r := range k.resources() {
		if b.parked[r] == nil {
			b.parked[r] = map[abi.KeyRef]struct{}{}
			if store := b.sight.Load().Store(r); store != nil {
				b.stores[r] = store.Version()
			}
		}
		b.parked[r][key] = struct{}{}
	}
	b.schedule(key, k)
	return nil
}

func (k *barrier) resources() map[abi.Resource]bool {
	m := map[abi.Resource]bool{}
	for r := range k.versions {
		m[r] = true
	}
	for _, g := range k.gone {
		m[g.Resource] = true
	}
	for _, o := range k.stale {
		m[o.Resource] = true
	}
	return m
}

// release forgets a key and returns those who wait for it.
func (b *Barriers) release(key abi.KeyRef, k *barrier) []func() {
	if k.timer != nil {
		k.timer.Stop()
	}
	if waited := b.sight.Load().Waited; waited != nil && !k.since.IsZero() {
		waited(time.Since(k.since))
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
func (b *Barriers) schedule(key abi.KeyRef, k *barrier) {
	after := b.sight.Load().LiveCheck
	for _, o := range k.stale {
		after = min(after, time.Until(o.until))
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	live := len(k.stale) == 0
	k.timer = time.AfterFunc(max(after, time.Millisecond), func() {
		if live {
			b.compare(key)
		}
		b.releaseIfReady(key)
	})
}

// releaseIfReady releases the key if it is ready, else goes on waiting.
func (b *Barriers) releaseIfReady(key abi.KeyRef) {
	for _, f := range b.releasedIfReady(key) {
		f()
	}
}

func (b *Barriers) releasedIfReady(key abi.KeyRef) (wakes []func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.keys[key]
	if k == nil || b.ctx.Err() != nil {
		return nil
	}
	if !b.satisfied(k) {
		b.pruneReached(k) // else it would be looked at again at once for what has expired
		b.schedule(key, k)
		return nil
	}
	return b.release(key, k)
}

// Progress looks at the keys that wait for a resource; the cache calls it after each change of the resource's store,
// unchanged objects included, and not under the store's lock.
func (b *Barriers) Progress(r abi.Resource) {
	for _, f := range b.releaseReached(r) {
		f()
	}
}

// releaseReached releases the keys that wait for a resource and are ready, and returns what is to be called of them.
func (b *Barriers) releaseReached(r abi.Resource) (wakes []func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := b.parked[r]
	if len(keys) == 0 {
		return nil
	}
	back := b.wentBack(r)
	for key := range keys {
		k := b.keys[key]
		if back {
			k.forgetResource(r)
		}
		if b.satisfied(k) {
			wakes = append(wakes, b.release(key, k)...)
		}
	}
	return wakes
}

// wentBack reports whether the store has an older version than before: etcd was restored, and what was written then may
// never be seen.
func (b *Barriers) wentBack(r abi.Resource) bool {
	store := b.sight.Load().Store(r)
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
	k.gone = slices.DeleteFunc(k.gone, func(g Gone) bool { return g.Resource == r })
}
