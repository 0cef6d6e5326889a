package controller

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

const (
	// resyncParts is how many parts a period has. The keys of a part are looked up when it begins, so no more of them are
	// kept than it has.
	resyncParts = 64
	// resyncPartMin bounds how often keys are looked up, and is the shortest period (as client-go's,
	// tools/cache/shared_informer.go:minimumResyncPeriod).
	resyncPartMin = time.Second
	// resyncRate is how many keys of one controller are woken in a second at most. A period in which more would have their
	// turn takes longer.
	resyncRate = 10
)

// resyncPeriod draws the time from one look at a key to the next: from the least to twice that, so that not all
// controllers, and not all processes, go through their keys together
// (cmd/kube-controller-manager/app/controllermanager.go:ResyncPeriod). 0: there is none.
func resyncPeriod(least time.Duration) time.Duration {
	if least <= 0 {
		return 0
	}
	return max(time.Duration(float64(least)*(1+rand.Float64())), resyncPartMin)
}

// resync wakes every key once in each period, until ctx ends, as if something had happened to it: that repairs what
// quiet views have missed, and takes up again what was given up. Keys are spread over the period by a hash, so that
// each has its turn at about the same time of every period.
func (c *Controller) resync(ctx context.Context, period time.Duration) {
	if period <= 0 {
		return
	}
	seed := maphash.MakeSeed()
	parts := uint64(min(max(period/resyncPartMin, 1), resyncParts))
	length := period / time.Duration(parts)
	for part := uint64(0); ; part = (part + 1) % parts {
		began := time.Now()
		keys := c.keysWanted(func(k Key) bool { return maphash.Comparable(seed, k)%parts == part })
		gap := max(length/time.Duration(len(keys)+1), time.Second/resyncRate)
		for _, k := range keys {
			if !pause(ctx, gap) {
				return
			}
			c.lookAgain(k, length)
		}
		if !pause(ctx, length-time.Since(began)) {
			return
		}
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// keysWanted returns those of the controller's keys that are wanted: those that have objects, and those that were given
// up, which may have none any more.
func (c *Controller) keysWanted(wanted func(Key) bool) (all []Key) {
	c.Current().Plan.KeysOf(c.World, wanted, func(k abi.KeyRef) { all = append(all, k) })
	for _, k := range c.stuck.givenUp() {
		if wanted(k) && !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}

// lookAgain wakes a key that nothing has happened to, behind all that something has happened to. One that is being
// synced, or that comes within a while by itself, is left alone: neither its back-off nor its timer is to be disturbed.
// One that is parked isn't: it parks again, unless what it waits for has come unnoticed.
func (c *Controller) lookAgain(k Key, while time.Duration) {
	if c.queue.NumRequeues(k) > 0 || c.stuck.comesBack(k) {
		return
	}
	if c.comesAnyway(k, while) {
		return
	}

	c.Current().Metrics.Resynced()
	c.turns.markResync(k)
	c.queue.Add(k)
}

// comesAnyway reports whether a key is being synced, or will be within a while. Of one that isn't it is noted that
// something else than its own writes wakes it.
func (c *Controller) comesAnyway(k Key, while time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.keys.read(k)
	if r.syncing || r.timer != nil && time.Until(r.timer.due) <= while {
		return true
	}
	if r.echo != nil {
		r.echo.foreign = true
	}
	return false
}

// ResyncPeriod returns the time from one look at a key to the next; 0 where there is none, or the controller doesn't
// run.
func (c *Controller) ResyncPeriod() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.period
}
