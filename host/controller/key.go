package controller

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/syncer"
)

// keyRecord is what a controller remembers of one of its keys, as long as there is anything.
type keyRecord struct {
	syncing bool
	events  []cache.Event // while it is being synced: what would have it synced again at once
	again   bool          // it has woken itself while it was being synced
	asked   bool          // a sync of the plugin has woken it, and no sync of its own has left nothing to do since
	traps   int           // its syncs in a row that performed and then failed in the sandbox

	timer    *timer    // what its last sync has asked for
	batch    batch     // it waits because its wake-ups are delayed; zero: it doesn't
	echo     *echo     // its last sync wrote
	restless *restless // its last sync asked for the next one at once
}

// isEmpty reports whether there is nothing to remember.
func (r *keyRecord) isEmpty() bool {
	return !r.syncing && !r.again && !r.asked && r.traps == 0 && r.timer == nil && r.batch.due.IsZero() && r.echo == nil &&
		r.restless == nil
}

// keyRecords are those of a controller's keys.
type keyRecords struct {
	of    map[Key]*keyRecord
	spare []*keyRecord // to be used again
	// syncing is how many keys are being synced.
	syncing int
}

// spareMost is how many records that aren't used are kept.
const spareMost = 64

// read returns what is remembered of a key.
func (l *keyRecords) read(k Key) keyRecord {
	if r := l.of[k]; r != nil {
		return *r
	}
	return keyRecord{}
}

// open returns the key's record, to change it; close ends that.
func (l *keyRecords) open(k Key) *keyRecord {
	r := l.of[k]
	if r != nil {
		return r
	}
	if n := len(l.spare); n > 0 {
		r, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		r = &keyRecord{}
	}
	if l.of == nil {
		l.of = map[Key]*keyRecord{}
	}
	l.of[k] = r
	return r
}

// close drops a key's record in which there is nothing to remember any more.
func (l *keyRecords) close(k Key, r *keyRecord) {
	if !r.isEmpty() {
		return
	}
	delete(l.of, k)
	if len(l.spare) < spareMost {
		*r = keyRecord{}
		l.spare = append(l.spare, r)
	}
}

// change changes what is remembered of each key.
func (l *keyRecords) change(f func(Key, *keyRecord)) {
	for k, r := range l.of {
		f(k, r)
		l.close(k, r)
	}
}

// beginSync notes that a key is being synced.
func (l *keyRecords) beginSync(k Key) {
	r := l.open(k)
	r.syncing = true
	l.syncing++
}

// endSync notes that it no longer is, and returns the events that were held back meanwhile.
func (l *keyRecords) endSync(k Key) (events []cache.Event) {
	r := l.open(k)
	events, r.events = r.events, nil
	r.syncing = false
	l.syncing--
	l.close(k, r)
	return events
}

// keySize is about what it takes to know of a key, in bytes: in the queue, its record, back-offs and records of
// failures.
func keySize(k Key) int64 { return int64(len(k.Resource)+len(k.Namespace)+len(k.Name)) + 400 }

// noteAsked notes that a sync has asked for the key to be synced, and returns how often the key has failed.
func (c *Controller) noteAsked(k Key, itself bool) (failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.keys.open(k)
	if itself {
		r.again = true
		return 0
	}
	if !r.asked {
		r.asked = true
		c.Memory.Add(budget.Keys, keySize(k))
	}
	return c.triesOf(k) + r.traps
}

// releaseKey gives back what a key takes that a sync has woken, if nothing is left to do for it.
func (c *Controller) releaseKey(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.keys.open(k); r.timer == nil {
		c.release(k, r)
		c.keys.close(k, r)
	}
}

// release is releaseKey whatever is left. The caller holds the lock.
func (c *Controller) release(k Key, r *keyRecord) {
	if r.asked {
		r.asked = false
		c.Memory.Add(budget.Keys, -keySize(k))
	}
}

// delay is why a key isn't synced though its turn has come, and for how long. One that waits for something else than a
// time is parked: what it waits for brings it back.
type delay struct {
	why  string // empty: it is synced
	on   abi.Resource
	wait time.Duration // 0: it is parked
}

// due says whether a key may be synced that the queue has given out. echoed is whether nothing but its own writes have
// woken it.
func (c *Controller) due(v *Version, k Key) (d delay, echoed bool) {
	if wait := c.asideWait(v, k); wait > 0 {
		return delay{why: "set aside", wait: wait}, false
	}

	v.Writer.Settle(k)
	if !v.Writer.Ready(k) {
		// The cache doesn't show this key's last writes yet: the key waits on the store, not in the queue.
		return delay{why: "parked", on: v.Writer.Behind(k)}, false
	}
	if !c.awaited.Admit(k) {
		return delay{why: "waits for others of its namespace, or of slow ones, whose writes the API server doesn't answer"},
			false
	}

	if wait := c.batchWait(k); wait > 0 {
		return delay{why: "batches", wait: wait}, false
	}
	echoed, wait := c.checkEcho(v, k)
	if wait > 0 {
		return delay{why: "rests", wait: wait}, false
	}
	return delay{}, echoed
}

// hold has a key wait.
func (c *Controller) hold(v *Version, k Key, d delay) {
	c.waits.noteHold(k, d.why, d.on)
	switch {
	case d.wait > 0:
		c.queue.AddAfter(k, d.wait)
	case d.on.Name != "":
		v.Metrics.Synced(Sync{Result: syncer.Stale, Behind: d.on})
		v.Writer.Park(k, func() { c.queue.Add(k) })
	}
}
