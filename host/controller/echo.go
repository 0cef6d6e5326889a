package controller

import (
	"time"

	"github.com/windlass-dev/windlass/host/cache"
)

// echo is what is known of a key whose last sync wrote: whether anything but its own writes has woken it since.
type echo struct {
	loops   int             // syncs in a row that only echoes led to, and that wrote again
	seen    []*cache.Object // what woke the key; whether it is an echo is known once the write's answer is there
	foreign bool            // something else woke it
	held    bool            // it waits, or has just waited
	wrote   time.Time       // when that sync ended
	took    time.Duration   // how long it took for each of its writes
}

// A key that its own writes wake, only to write again, is held back after echoLimit such syncs in a row: twice as long
// each time, up to echoMax.
const (
	echoLimit = 5
	echoFirst = 20 * time.Millisecond
	echoMax   = 2 * time.Second

	seenMax = 16 // a key that more objects woke was not woken by an echo alone
)

// foreign notes that something that is no event woke the key.
func (c *Controller) foreign(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batched(k, 0)
	if e := c.keys.read(k).echo; e != nil {
		e.foreign = true
	}
}

// noticed notes the event that woke the key, and reports whether it is to be added to the queue: not while it is being
// synced, for the end of that sync wakes it, nor if it will have a turn before.
func (c *Controller) noticed(k Key, delay time.Duration, event cache.Event) (wakes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wakes = c.batched(k, delay)
	r := c.keys.of[k]
	if r == nil {
		return wakes
	}
	if r.syncing && delay == 0 && len(r.events) < seenMax {
		r.events, wakes = append(r.events, event), false
	}
	e := r.echo
	if e == nil {
		return wakes
	}
	if event.New == nil || len(e.seen) == seenMax {
		e.foreign = true
		return wakes
	}
	e.seen = append(e.seen, event.New)
	return wakes
}

// holdEvents keeps back what would have the key synced again at once, while it is being synced. The queue would keep it
// as long; but a write's event may come before its answer, and only after the answer it is known for the echo that it
// is.
func (c *Controller) holdEvents(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys.beginSync(k)
}

// endSync ends that, and returns the events that were held back.
func (c *Controller) endSync(k Key) []cache.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys.endSync(k)
}

// resumeKey wakes the key, if any event was held back that wasn't an echo, or is one that the plugin wants to hear.
func (c *Controller) resumeKey(v *Version, k Key) {
	for _, e := range c.endSync(k) {
		if !v.Writer.Own(e) || v.Plan.Echoes(e) {
			c.enqueue(k, 0)
			return
		}
	}
}

// checkEcho reports whether nothing but its own writes have woken the key, and how long it must wait: for its
// controller's pace, or because that goes on and on.
func (c *Controller) checkEcho(v *Version, k Key) (echoed bool, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.keys.read(k).echo
	if e == nil {
		return false, 0
	}
	for _, o := range e.seen {
		e.foreign = e.foreign || !v.Writer.Answered(o)
	}
	clear(e.seen)
	e.seen = e.seen[:0]
	echoed = !e.foreign
	if wait := e.restTime(time.Duration(v.Manifest.Pace)) - time.Since(e.wrote); wait > 0 {
		return echoed, wait
	}
	if echoed && e.loops >= echoLimit && !e.held {
		e.held = true
		return true, min(echoFirst<<min(e.loops-echoLimit, 10), echoMax)
	}
	e.held, e.foreign = false, false
	return echoed, 0
}

// countWrites keeps count after a sync. One that failed doesn't make the key rest: its back-off does that, and what
// happens meanwhile may be what lets it go on.
func (c *Controller) countWrites(k Key, writes int, echoed bool, err error, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.keys.open(k)
	defer c.keys.close(k, r)
	e := r.echo
	switch {
	case writes == 0:
		r.echo = nil
		return
	case e == nil:
		e = &echo{}
		r.echo = e
	case echoed:
		e.loops++
	default:
		e.loops = 0
	}
	e.wrote, e.took = time.Now(), took/time.Duration(writes)
	if err != nil {
		e.wrote = time.Time{}
	}
}

// A key with a pace rests longer where a write takes long: then the API server is busy, or the machine is. A key that
// writes one thing at a time is so at work for a quarter of the time; one that creates pods by the hundred goes on with
// the next. But no key rests for more than paceMost paces.
const (
	paceShare = 3
	paceMost  = 4
)

// restTime returns how long the key rests from the end of its last sync on.
func (e *echo) restTime(pace time.Duration) time.Duration {
	return min(max(pace, paceShare*e.took), paceMost*pace)
}
