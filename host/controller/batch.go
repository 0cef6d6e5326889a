package controller

import "time"

// batch is of a key that waits because a view's wake-ups are delayed, so that many become one.
type batch struct {
	delay time.Duration
	due   time.Time // when the first of them wakes the key
	last  time.Time // when the last came
}

// When the delay is over while wake-ups still come close upon each other, what they tell of is still going on, such as
// a hundred pods that end together on a busy machine: the key waits for a pause, a batchPause'th of the delay, but no
// longer than a batchMost'th of it. Otherwise the rest of them would cost another sync, and have to wait for it.
const (
	batchPause = 10
	batchMost  = 4
)

// batched notes a wake-up, and reports whether it is to wake the key, after the delay: not if an earlier one will. One
// without delay ends a wait that goes on. The caller holds the lock.
func (c *Controller) batched(k Key, delay time.Duration) (wakes bool) {
	b := c.keys.read(k).batch
	ok := !b.due.IsZero()
	if !ok && delay <= 0 {
		return true
	}
	r := c.keys.open(k)
	defer c.keys.close(k, r)
	now := time.Now()
	due := now.Add(delay)
	switch {
	case delay > 0 && ok && !due.Before(b.due):
		b.last = now
	case delay > 0:
		b, wakes = batch{delay, due, now}, true
	case now.Before(b.due):
		return true
	default:
		r.batch = batch{}
		return true
	}
	r.batch = b
	return wakes
}

// batchWait returns how long the key waits on because its batch goes on; 0: it is to be synced. What wakes it before
// its batch is due has it synced then too.
func (c *Controller) batchWait(k Key) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.keys.read(k).batch
	if b.due.IsZero() {
		return 0
	}
	now := time.Now()
	if now.Before(b.due) {
		c.queue.AddAfter(k, b.due.Sub(now)) // of two times the queue keeps the earlier one only: this one may be lost
		return 0
	}
	if wait := min(b.last.Add(b.delay/batchPause).Sub(now), b.due.Add(b.delay/batchMost).Sub(now)); wait > 0 {
		return wait
	}
	r := c.keys.open(k)
	r.batch = batch{}
	c.keys.close(k, r)
	return 0
}
