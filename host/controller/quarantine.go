package controller

import (
	"context"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
)

// A controller that isn't built in is set aside when so many syncs in a row have failed in the sandbox. Which of them
// count is a question of whose fault they may be. That a sync wants what the manifest doesn't have is the plugin's, and
// three keys suffice. A trap, or a limit, may come from what objects contain, which is their owners' choice: in nearly
// all places nearly all keys must fail, and in three at least.
const (
	failuresMost  = 30
	failingKeys   = 3
	failingPlaces = 3

	// Of a place's keys, and of all places, at least so many in ten fail; where there are very many, so many suffice.
	failingTenths = 9
	failingEnough = 1000

	// A built-in controller whose last syncs have failed, so many in a row, with as many of its keys, is degraded.
	degradedRow = 3
)

// failingMost is how many failing keys are remembered.
const failingMost = 10_000

// failures are the syncs that failed in the sandbox, were refused, or over which Windlass has panicked.
type failures struct {
	row  int // since the last one that went well
	last error
	// Those of the row that wanted what the manifest doesn't have, and at most failingKeys different keys of theirs.
	undeclared     int
	undeclaredKeys []Key

	keys map[Key]*failedKey // whose last sync failed so
	// pace is when the next key that is set aside may be tried.
	pace time.Time
}

// quarantine is the time for which a controller is set aside.
type quarantine struct {
	why  error
	over chan struct{} // closed at its end
	// probe gives who takes from it the right to sync one key; nil: nobody gets that.
	probe chan struct{}
	wait  time.Duration // before the next probe
	next  time.Time     // when that may begin
	row   int           // failures when the last one began
}

// What was quarantined for traps or limits is probed with one key, first after probeFirst, and then after twice as long
// each time, up to probeMost.
const (
	probeFirst = 10 * time.Second
	probeMost  = 10 * time.Minute
)

// countFailure counts a sync's end, and quarantines the controller if that is called for.
func (c *Controller) countFailure(v *Version, k Key, result string, failed error, took time.Duration) {
	if failed == nil {
		c.countGood(v, k)
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if v != c.version {
		return
	}
	f := &c.failures
	f.row++
	f.last = failed
	f.note(k, took)
	if effects.NotDeclared(failed) {
		f.undeclared++
		if len(f.undeclaredKeys) < failingKeys && !slices.Contains(f.undeclaredKeys, k) {
			f.undeclaredKeys = append(f.undeclaredKeys, k)
		}
	}
	if v.BuiltIn || c.quarantine != nil {
		return
	}

	switch single := v.Manifest.Key.Single; {
	case result == syncer.Panic, f.undeclared >= failuresMost && (len(f.undeclaredKeys) == failingKeys || single):
		c.beginQuarantine(v, false)
	case single && f.row >= failuresMost:
		c.beginQuarantine(v, f.undeclared == 0)
	case f.row%failuresMost == 0 && f.places() >= failingPlaces:
		if row := f.row; c.failsNearlyEverywhere(v) && c.failures.row == row && v == c.version {
			c.beginQuarantine(v, true)
		}
	}
}

// countGood counts a sync that the sandbox didn't fail. One that goes well ends a quarantine that is probed.
func (c *Controller) countGood(v *Version, k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v != c.version {
		return
	}
	f := &c.failures
	f.row, f.undeclared, f.undeclaredKeys = 0, 0, f.undeclaredKeys[:0]
	delete(f.keys, k)
	if q := c.quarantine; q != nil && q.probe != nil {
		c.log.Info("Controller is released from its quarantine: a sync went well", "plugin", v.Plugin, "key", k.String())
		c.endQuarantine()
	}
}

// places is in how many namespaces the failing keys are; a key without one is a place of its own. More than
// failingPlaces aren't counted.
func (f *failures) places() int {
	found := make([]Key, 0, failingPlaces)
	for k := range f.keys {
		place := placeOf(k)
		if slices.Contains(found, place) {
			continue
		}
		if found = append(found, place); len(found) == failingPlaces {
			break
		}
	}
	return len(found)
}

// placeOf is a key's namespace, or the key itself where it has none.
func placeOf(k Key) Key {
	if k.Namespace != "" {
		return Key{Namespace: k.Namespace}
	}
	return Key{Name: k.Name}
}

// failsNearlyEverywhere reports whether in nearly all places that there are nearly all keys fail: the keys of one
// namespace, however many there are, say nothing of the others. The caller holds the lock, which is let go of
// meanwhile.
func (c *Controller) failsNearlyEverywhere(v *Version) bool {
	failing := map[Key]int{}
	for k := range c.failures.keys {
		failing[placeOf(k)]++
	}
	c.mu.Unlock()
	defer c.mu.Lock()

	all := map[Key]int{}
	v.Plan.Keys(c.World, func(k Key) { all[placeOf(k)]++ })
	places := 0
	for place, keys := range all {
		if n := failing[place]; n > 0 && n >= nearlyAll(keys) {
			places++
		}
	}
	return places >= nearlyAll(len(all))
}

// nearlyAll returns how many of so many are enough.
func nearlyAll(n int) int { return min((n*failingTenths+9)/10, failingEnough) }

// beginQuarantine sets the controller aside; probed says whether single keys are tried meanwhile.
func (c *Controller) beginQuarantine(v *Version, probed bool) {
	q := &quarantine{why: c.failures.last, over: make(chan struct{}), wait: probeFirst}
	c.quarantine = q
	said := "load another version, or run windlass release"
	if probed {
		q.probe = make(chan struct{}, 1)
		q.await()
		said = "one key is tried now and then, and it comes back when that goes well; or " + said
	}
	c.log.Error(q.why, "Controller is quarantined: its syncs kept failing in the sandbox, or windlass panicked in one: "+
		said, "plugin", v.Plugin, "digest", v.Digest, "failures", c.failures.row, "keys", len(c.failures.keys))
}

// await has the next probe begin in its time.
func (q *quarantine) await() {
	q.next = time.Now().Add(q.wait)
	time.AfterFunc(q.wait, func() {
		select {
		case q.probe <- struct{}{}:
		case <-q.over:
		}
	})
}

// Release ends a quarantine, and has keys that are set aside tried at once; false if there was neither.
func (c *Controller) Release() bool {
	aside, was := c.forgetFailures()
	for _, k := range aside {
		c.Wake(k)
	}
	return was
}

// forgetFailures ends a quarantine, and returns the keys that were set aside, and whether there was either.
func (c *Controller) forgetFailures() (aside []Key, was bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version.BuiltIn {
		for k := range c.failures.keys {
			aside = append(aside, k)
		}
	}
	was = c.quarantine != nil || len(aside) > 0
	c.endQuarantine()
	return aside, was
}

// endQuarantine ends a quarantine, if there is one, and forgets all failures. The caller holds the lock.
func (c *Controller) endQuarantine() {
	c.failures = failures{}
	if c.quarantine != nil {
		close(c.quarantine.over)
		c.quarantine = nil
	}
}

// Quarantined returns why the controller is set aside, nil if it isn't, and when a key may be tried next, zero if none
// is before somebody releases it.
func (c *Controller) Quarantined() (probe time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.quarantine
	switch {
	case q == nil:
		return time.Time{}, nil
	case q.probe == nil:
		return time.Time{}, q.why
	}
	return q.next, q.why
}

// Degraded is why a built-in controller does next to nothing: the last failure, if nearly all of its keys fail. Nil: it
// does.
func (c *Controller) Degraded() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, f := c.version, &c.failures
	if !v.BuiltIn || f.row < degradedRow || len(f.keys) == 0 {
		return nil
	}
	if last := f.last; c.failsNearlyEverywhere(v) {
		return last
	}
	return nil
}

// waitQuarantined waits while the controller is quarantined. If it returns a quarantine, that goes on, and one key may
// be synced, after which probeAgain is to be called.
func (c *Controller) waitQuarantined(ctx context.Context) *quarantine {
	c.mu.Lock()
	q, ended := c.quarantine, c.ended
	c.mu.Unlock()
	if q == nil {
		return nil
	}
	select {
	case <-q.over:
	case <-q.probe:
		c.mu.Lock()
		defer c.mu.Unlock()
		q.row = c.failures.row
		return q
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}

// probeAgain has another key tried later, unless the last one has ended the quarantine.
func (c *Controller) probeAgain(q *quarantine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quarantine != q {
		return
	}
	if c.failures.row > q.row {
		q.wait = min(2*q.wait, probeMost)
	}
	q.await()
}
