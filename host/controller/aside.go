package controller

import "time"

// failedKey is what is remembered of a key whose last sync failed.
type failedKey struct {
	tries int
	took  time.Duration // the last sync
	// next is when a key that is set aside is tried again, soonest when it is if something happens to it before.
	next, soonest time.Time
}

// A key of a built-in controller whose sync failed in the sandbox is set aside: it is tried again after asideFirst, and
// then after twice as long each time, up to asideMost. A sync that fails may take long, such as its whole deadline, and
// others need the worker. So a key rests for at least asideRests times as long as its last sync took, half of that if
// something happens to it. All keys together, as far as nothing happens to them, have a quarter of one worker's time.
const (
	asideFirst = time.Second
	asideMost  = 5 * time.Minute
	asideRests = 10
	asideShare = 4
)

// note notes a key's failure. Keys beyond failingMost aren't remembered.
func (f *failures) note(k Key, took time.Duration) {
	x := f.keys[k]
	if x == nil {
		if len(f.keys) == failingMost {
			return
		}
		if f.keys == nil {
			f.keys = map[Key]*failedKey{}
		}
		x = &failedKey{}
		f.keys[k] = x
	}

	x.tries++
	x.took = took
	now := time.Now()
	wait := max(asideFirst<<min(x.tries-1, 10), asideRests*took)
	x.next = now.Add(min(wait, asideMost))
	x.soonest = now.Add(min(max(asideFirst, asideRests/2*took), asideMost))
}

// setAside holds a key of a built-in controller back whose sync has failed, and reports how long.
func (c *Controller) setAside(k Key) time.Duration {
	wait := asideMost
	c.mu.Lock()
	if x := c.failures.keys[k]; x != nil {
		wait = time.Until(x.next)
	}
	c.mu.Unlock()
	c.queue.AddAfter(k, wait)
	return wait
}

// asideWait returns how long a key that is set aside must still wait, 0 if it may be tried now.
func (c *Controller) asideWait(v *Version, k Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &c.failures
	x := f.keys[k]
	if x == nil || !v.BuiltIn || v != c.version {
		return 0
	}

	now := time.Now()
	switch {
	case now.Before(x.soonest):
		return x.soonest.Sub(now)
	case now.Before(x.next):
		return 0 // something has happened to it
	case now.Before(f.pace):
		x.next = f.pace
		return f.pace.Sub(now)
	}
	f.pace = now.Add(asideShare * x.took)
	return 0
}

// triesOf is how many syncs of a key have failed in a row, as far as that is known. The caller holds the lock.
func (c *Controller) triesOf(k Key) int {
	n := c.queue.NumRequeues(k)
	if x := c.failures.keys[k]; x != nil && c.version.BuiltIn {
		n += x.tries
	}
	return n
}

// attempt is what a sync is told of those that failed before it.
func (c *Controller) attempt(k Key) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int32(c.triesOf(k))
}

// Aside is how many keys of a built-in controller are set aside.
func (c *Controller) Aside() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.version.BuiltIn {
		return 0
	}
	return len(c.failures.keys)
}
