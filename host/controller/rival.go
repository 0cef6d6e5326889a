package controller

import (
	"bytes"
	"context"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
)

// Trial is what a new version goes through.
type Trial struct {
	// Synced is told of each sync on the version, and reports whether the trial goes on; failed is why the sandbox gave it
	// up, nil if it didn't. It isn't told of a sync that fails on the version before, too.
	Synced func(failed error) bool
	// Before is the version that comes back if this one fails; nil: that hasn't the controller.
	Before *Version
}

// EndTrial ends the trial of the current version, if it is on one. The version before is asked nothing more from now
// on; it is idle once drained.
func (c *Controller) EndTrial() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trial = nil
}

// reportTrial tells the trial of a version's sync; failed is why the sandbox gave it up, nil if it didn't.
func (c *Controller) reportTrial(v *Version, failed error) {
	c.mu.Lock()
	t := c.trial
	if v != c.version {
		t = nil
	}
	c.mu.Unlock()
	if t == nil || t.Synced(failed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trial == t {
		c.trial = nil
	}
}

// rivalled prepares a sync of the version before one that is on trial, nil if it isn't or there is none before. What
// objects contain may fail any version: what the older one makes of the key tells whether the new one is to blame.
func (c *Controller) rivalled(ctx context.Context, v *Version, live *syncer.Turn) *double {
	before := c.acquireBefore(v)
	if before == nil {
		return nil
	}
	return c.newDouble(ctx, &Shadow{Version: before}, live)
}

// acquireBefore returns the version before one that is on trial, in use from now on; nil if there is none.
func (c *Controller) acquireBefore(v *Version) *Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v != c.version || c.trial == nil || c.trial.Before == nil {
		return nil
	}
	c.trial.Before.acquire()
	return c.trial.Before
}

// excuses reports whether the live sync failed and the version before does no better. That is told what the live
// version was told, and nothing of what it wants is done; if it comes to a perform that the live one didn't come to, it
// does better.
func (d *double) excuses(ctx context.Context, o *syncer.Outcome) bool {
	defer d.Version.release()
	if o.Failed == nil {
		return false
	}
	same := false
	err := d.syncer.Try(ctx, func(in []byte, p *abi.PerformRequest) (out []byte, ok bool) {
		if out, err := d.tape.Perform(in); err == nil {
			return out, true
		}
		out, ok = d.answerAsks(p)
		same = !ok && bytes.Equal(in, d.ended)
		return out, ok
	})
	return err != nil || same && !effects.Refused(o.Failed)
}
