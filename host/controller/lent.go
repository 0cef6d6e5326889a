package controller

import (
	"cmp"
	"slices"
	"time"
)

// How many syncs of a controller may go on without a worker, because they have waited for the API server for long: so
// many with two workers or fewer; so many for each worker, but no more than the last beside the workers, for each has
// an instance of the module.
const (
	awayFew       = 16
	awayPerWorker = 8
	awayMore      = 48
)

// othersWait is what a key waits for whose namespace has its share of those that wait.
const othersWait = "other keys of its namespace, which wait for the API server"

// awayMost returns how many syncs may go on without a worker: few where the plugin's memory runs short.
func (c *Controller) awayMost() int {
	if c.Memory != nil && c.Memory.Sum() > c.Memory.Limit()/4*3 {
		return 2
	}
	n := c.Workers()
	return min(max(awayFew, awayPerWorker*n), n+awayMore)
}

// lendWorker lets another key be synced in the place of one whose sync waits for the API server.
func (c *Controller) lendWorker() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers--
	if c.more != nil {
		c.more()
	}
}

// returnWorker says that a sync without a worker ends. There may be more workers than there should be then: who comes
// from a sync ends, as where SetWorkers has lessened them.
func (c *Controller) returnWorker() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers++
}

// syncingFor returns the keys that have been syncing for so long, and which request theirs wait for.
func (c *Controller) syncingFor(least time.Duration) (keys []Stuck) {
	for _, s := range c.awaited.Running(least) {
		x := Stuck{Controller: c.name, Key: s.Key.String(), State: Syncing, Since: s.Began}
		if s.Request != "" {
			x.WaitsFor = []string{"the API server's answer to " + s.Request + " (for " +
				time.Since(s.Asked).Round(time.Second).String() + ")"}
		}
		keys = append(keys, x)
	}
	return keys
}

// slowMin is after how long a sync is told of in the status.
const slowMin = 30 * time.Second

// Slow is how many keys have been syncing for so long that somebody should know; longest is the one that has been for
// longest, nil if none has.
func (c *Controller) Slow() (keys int, longest *Stuck) {
	all := c.syncingFor(slowMin)
	if len(all) == 0 {
		return 0, nil
	}
	x := slices.MinFunc(all, func(a, b Stuck) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key)) })
	return len(all), &x
}

// Unsettled is how many keys have a write of which nobody knows whether it was done; longest is the one that has had it
// for longest, nil if none has.
func (c *Controller) Unsettled() (keys int, longest *Stuck) {
	w := c.Current().Writer
	open := w.UnsettledKeys()
	for k, since := range open {
		if longest == nil || since.Before(longest.Since) {
			longest = &Stuck{Key: k.String(), State: Unsettled, Since: since, WaitsFor: w.Unsettled(k)}
		}
	}
	return len(open), longest
}

// Away returns how many syncs go on without a worker, and how many were ended for others so far.
func (c *Controller) Away() (now, ended int) { return c.awaited.Away() }
