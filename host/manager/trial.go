package manager

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/state"
)

// A new version is on trial for so many syncs, or so long, whichever ends first. The one before it stays loaded until
// then, and comes back by itself if the sandbox gives up on the new one.
const (
	trialSyncs = 50
	trialTime  = 30 * time.Second
)

// trial counts the syncs of a new generation.
type trial struct {
	mu   sync.Mutex
	left int
	over chan error // gets the end, nil for a good one
	done bool
}

// ofController returns the trial of one controller; nil without a trial. before is what it would fall back on.
func (t *trial) ofController(name string, before *generation) *controller.Trial {
	if t == nil {
		return nil
	}
	x := &controller.Trial{Synced: t.countSync}
	if before != nil && len(before.loaded.Missing) == 0 {
		x.Before = before.versions[name]
	}
	return x
}

// countSync counts a sync, and reports whether the trial goes on.
func (t *trial) countSync(failed error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return false
	}
	t.left--
	if failed == nil && t.left > 0 {
		return true
	}
	t.done = true
	t.over <- failed
	return false
}

// endTrial ends a trial whose outcome nobody needs any longer, so that nothing keeps its versions.
func (t *trial) endTrial() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		t.done = true
		t.over <- nil
	}
}

// awaitTrial waits for the end of a trial, and puts the module before back if the new one has failed.
func (h *hosted) awaitTrial(t *trial) {
	timer := time.NewTimer(trialTime)
	defer timer.Stop()
	var failed error
	for idle := true; idle; {
		select {
		case failed = <-t.over:
			idle = false
		case <-timer.C:
			if idle = h.standsBy(); idle { // it is tried when it leads
				timer.Reset(trialTime)
			}
		case <-h.m.work.Done():
			return
		}
	}

	h.m.changing.Lock()
	defer h.m.changing.Unlock()
	if h.trial != t || h.m.closed {
		return
	}

	if failed == nil {
		h.settle()
		return
	}
	h.rollBack(failed)
}

// settle lets the generation before the present one go: the trial is over, or another module's is about to begin.
func (h *hosted) settle() {
	if old := h.takeFallback(); old != nil {
		h.m.metrics.Swaps.WithLabelValues(h.name, "ok").Inc() // the next one may come before its trial is over
		h.m.history.noteTrialEnd(h.name, state.SwapOK, nil)
		h.drainLater(old)
	}
}

// takeFallback ends the trial, and returns the generation that there was to fall back on.
func (h *hosted) takeFallback() *generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.before
	if h.trial != nil {
		h.trial.endTrial()
		for _, s := range h.slots.all() {
			s.EndTrial() // which asks the old one's versions no more
		}
	}
	h.before, h.trial = nil, nil
	return old
}

// rollBack puts the module before back, under the present configuration; what the failed one still answers is dropped,
// and its keys synced again.
func (h *hosted) rollBack(failed error) {
	old := h.takeFallback()
	h.tried.add(h.present.core, failed)
	back, err := h.asConfigured(old)
	if err != nil {
		klog.ErrorS(err, "Plugin failed its trial but stays: the previous version can't run with the present configuration", "plugin", h.name, "failed", failed, "digest",
			shortDigest(h.present.Digest))
		h.m.metrics.Swaps.WithLabelValues(h.name, "failed").Inc()
		h.m.history.noteTrialEnd(h.name, state.SwapStays,
			fmt.Errorf("%w; but the previous version can't run with the present configuration: %w", failed, err))
		h.drainLater(old)
		return
	}

	if back != old {
		h.drainLater(old)
	}
	// what waits was made to go on from the one that goes: the next look makes it anew
	h.dropNext()
	if back.isFilled(h.m.stores) {
		h.putBack(back, failed)
		return
	}
	h.await(&next{generation: back, back: true, take: func() { h.putBack(back, failed) }})
}

// putBack puts the module before in the place of the present one, which has failed its trial.
func (h *hosted) putBack(back *generation, failed error) {
	g := h.present
	klog.ErrorS(failed, "Plugin was rolled back: the new version failed its trial", "plugin", h.name, "from",
		shortDigest(g.Digest), "to", shortDigest(back.Digest))
	h.m.metrics.Swaps.WithLabelValues(h.name, "rolled-back").Inc()
	h.m.history.noteTrialEnd(h.name, state.SwapRolledBack, failed)
	g.revoke()
	h.restore(back)
	h.switchTo(back, nil, nil)
	h.drainLater(g)
}

// asConfigured returns a generation if it is as the present configuration would have it, and another one of its module
// if it isn't: an older, wider grant never comes back.
func (h *hosted) asConfigured(old *generation) (*generation, error) {
	now := h.m.applied.Load()
	c, err := h.m.loader.rechoose(now, old.choice, h.m.roster)
	if err != nil {
		return nil, err
	}
	if c.fingerprint() == old.fingerprint() && !old.revoked {
		return old, nil
	}
	return h.load(h.m.work, now.config, c, false)
}

// restore makes slots for those controllers of a generation that have been ended since. What it reads wakes the keys of
// the slots that there are now.
func (h *hosted) restore(g *generation) {
	h.putMade(g)
	for name, v := range g.versions {
		s := h.slots.named(name)
		if s == nil {
			s = h.newSlot(h.m.applied.Load().config, v)
			h.slots.put(s)
		}
		if err := h.reread(s, g); err != nil {
			klog.ErrorS(err, "Controller gets no events for what it reads, and syncs no new changes: restart windlass", "controller",
				name)
		}
	}
}
