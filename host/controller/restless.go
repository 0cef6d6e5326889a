package controller

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// A key is restless whose syncs write nothing and ask to be synced again within less than restlessWithin, where nothing
// but that has led to restlessLimit of them in a row: it waits longer each time, from restlessFirst up to restlessMax.
// Others' changes wake it as ever.
const (
	restlessWithin = 100 * time.Millisecond
	restlessLimit  = 10
	restlessFirst  = 20 * time.Millisecond
	restlessMax    = 2 * time.Second
)

// restless is what is known of a key whose last sync wrote nothing and asked for the next one within restlessWithin.
type restless struct {
	asked time.Duration // what its last sync asked for
	fired bool          // that time has come
	loops int           // syncs in a row that such a time led to, and that asked so again
	since time.Time     // when the first of them ended
	next  time.Time     // when it is synced again
}

// calmedDelay returns after how long a key is synced again whose sync has asked for that after d, 0 for not at all.
func (c *Controller) calmedDelay(v *Version, k Key, d time.Duration, writes int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	record := c.keys.open(k)
	defer c.keys.close(k, record)
	if writes > 0 || d <= 0 || d >= restlessWithin {
		record.restless = nil
		return d
	}
	now := time.Now()
	if record.restless == nil {
		record.restless = &restless{since: now}
	}
	r := record.restless
	if r.fired {
		r.loops, r.fired = r.loops+1, false
	}
	r.asked, r.next = d, now.Add(d)
	if r.loops < restlessLimit {
		return d
	}

	if r.loops == restlessLimit {
		c.log.Info("Syncs of the key write nothing and keep asking for the next one at once: slowing the key down",
			"plugin", v.Plugin, "digest", shortDigest(v.Digest), "key", k.String(), "requeueAfter", d)
	}
	v.Metrics.Slowed()
	d = max(d, min(restlessFirst<<min(r.loops-restlessLimit, 10), restlessMax))
	r.next = now.Add(d)
	return d
}

// Restless returns how many keys are slowed down because their syncs write nothing and ask for the next one at once,
// and the one that has done so for longest, nil if there is none.
func (c *Controller) Restless() (n int, longest *Stuck) {
	all := c.slowedKeys()
	for i := range all {
		if longest == nil || cmp.Or(all[i].Since.Compare(longest.Since), strings.Compare(all[i].Key, longest.Key)) < 0 {
			longest = &all[i]
		}
	}
	return len(all), longest
}

// slowedKeys returns the keys that are slowed down.
func (c *Controller) slowedKeys() (all []Stuck) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, record := range c.keys.of {
		if r := record.restless; r != nil && r.loops >= restlessLimit {
			all = append(all, Stuck{Controller: c.name, Key: k.String(), State: Restless, Tries: r.loops, Since: r.since,
				Next:  r.next,
				Error: fmt.Sprintf("its syncs write nothing and ask for the next one in %v", r.asked)})
		}
	}
	return all
}
