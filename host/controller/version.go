package controller

import (
	"context"
	"slices"
	"sync"

	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/syncer"
)

// Version is what a controller's syncs run on: one module with its settings, its views, its rights. A controller may be
// given another one while it runs.
type Version struct {
	syncer.Target
	Digest  string // of the module
	Metrics Metrics
	// Recorder keeps the last syncs; nil: they aren't kept.
	Recorder *record.Recorder
	// Logs bounds what is logged of syncs that fail, whose texts are the plugin's; nil: no bound.
	Logs *sandbox.Logs
	// Secrets tells what must not be written of the syncs; nil: they see nothing secret.
	Secrets *record.Source

	mu      sync.Mutex
	inUse   int
	retired chan struct{} // closed when it is idle after Retire
}

func (v *Version) acquire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inUse++
}

func (v *Version) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inUse--
	if v.inUse == 0 && v.retired != nil {
		close(v.retired)
		v.retired = nil
	}
}

// Drain waits until the syncs that began on a version which is no longer current have ended.
func (v *Version) Drain(ctx context.Context) error {
	v.mu.Lock()
	if v.inUse == 0 {
		v.mu.Unlock()
		return nil
	}
	if v.retired == nil {
		v.retired = make(chan struct{})
	}
	idle := v.retired
	v.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Current is the version that syncs begin on.
func (c *Controller) Current() *Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// acquireVersion returns the current version, which stays loaded until its release is called.
func (c *Controller) acquireVersion() *Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version.acquire()
	return c.version
}

// Swap has syncs begin on another version from now on. Those in flight end on the one that they began on, and are
// written; queue, timers and backoff stay, and so does the state where the new version understands it. A quarantine
// ends. trial, if set, is told of each sync on the new version until it returns false.
func (c *Controller) Swap(next *Version, trial func(failed error) bool) {
	next.Writer.Lead()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states.Adopt(next.State)
	c.version, c.trial = next, trial
	clear(c.traps)
	c.failures = failures{}
	c.release()
}

// reportTrial tells the trial of a version's sync; failed is why the sandbox gave it up, nil if it didn't.
func (c *Controller) reportTrial(v *Version, failed error) {
	c.mu.Lock()
	trial := c.trial
	if v != c.version {
		trial = nil
	}
	c.mu.Unlock()
	if trial == nil || trial(failed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v == c.version {
		c.trial = nil
	}
}

// A controller whose sandbox fails on and on, for at least so many syncs in a row over at least so many keys, is set
// aside.
const (
	failuresMost = 30
	failingKeys  = 3
)

// failures are the syncs in a row that failed in the sandbox.
type failures struct {
	count int
	keys  []Key // at most failingKeys different ones
	last  error
}

// countFailure counts a sync's end and quarantines the controller whose plugin keeps failing, or one over which the
// host has panicked.
func (c *Controller) countFailure(v *Version, k Key, failed error, panicked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v != c.version {
		return
	}
	f := &c.failures
	if failed == nil {
		*f = failures{}
		return
	}
	f.count++
	f.last = failed
	if len(f.keys) < failingKeys && !slices.Contains(f.keys, k) {
		f.keys = append(f.keys, k)
	}
	enough := f.count >= failuresMost && (len(f.keys) == failingKeys || v.Manifest.Key.Single)
	if !enough && !panicked || c.quarantine != nil {
		return
	}

	c.quarantine = make(chan struct{})
	c.log.Error(failed, "Controller is quarantined: its syncs kept failing in the sandbox, or windlass panicked in one: "+
		"load another version, or run windlass release",
		"plugin", v.Plugin, "digest", v.Digest, "failures", f.count)
}

// Release ends a quarantine; false if there was none.
func (c *Controller) Release() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.quarantine != nil
	c.failures = failures{}
	c.release()
	return was
}

func (c *Controller) release() {
	if c.quarantine != nil {
		close(c.quarantine)
		c.quarantine = nil
	}
}

// Quarantined is why the controller is set aside, nil if it isn't.
func (c *Controller) Quarantined() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quarantine == nil {
		return nil
	}
	return c.failures.last
}

// waitQuarantined waits while the controller is quarantined.
func (c *Controller) waitQuarantined(ctx context.Context) {
	c.mu.Lock()
	q, ended := c.quarantine, c.ended
	c.mu.Unlock()
	if q == nil {
		return
	}
	select {
	case <-q:
	case <-ended:
	case <-ctx.Done():
	}
}

// stopping reports whether no further sync is to begin.
func (c *Controller) stopping() bool {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	select {
	case <-ended:
		return true
	default:
		return false
	}
}
