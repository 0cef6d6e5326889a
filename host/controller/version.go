package controller

import (
	"context"
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
	// BuiltIn says that the module came with Windlass, under this name: its controller is never quarantined.
	BuiltIn bool

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
// ends. t, if set, is told of syncs on the new version until its end.
func (c *Controller) Swap(next *Version, t *Trial) {
	next.Writer.Lead()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states.Adopt(next.State)
	c.version, c.trial = next, t
	c.keys.change(func(_ Key, r *keyRecord) { r.traps = 0 })
	c.endQuarantine()
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
