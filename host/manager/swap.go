package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
)

// A new version is on trial for so many syncs, or so long, whichever ends first. The one before it stays loaded until
// then, and comes back by itself if the sandbox gives up on the new one.
const (
	trialSyncs = 50
	trialTime  = 30 * time.Second
)

// fillMax is how long a new version may take to get its caches before the old one is kept.
const fillMax = time.Minute

// swap replaces a plugin's generation while its controllers run. Another module is on trial; the same one
// under another configuration isn't, for that is the operator's word: it goes on with the trial that it is on, if any.
// The caller holds changing.
func (h *hosted) swap(ctx context.Context, k *config.Configuration, c *choice) error {
	same := c.Digest == h.present.Digest
	if !same {
		h.settle() // there is room for one to fall back on
	}

	next, err := h.load(ctx, k, c)
	if err != nil {
		return err
	}

	if err := next.fill(ctx, h.m.stores); err != nil {
		h.forgetSlots(next)
		return errors.Join(fmt.Errorf("plugin %s: %w", c.Name, err), next.close())
	}

	was, t := h.present, h.trial
	if !same {
		t = &trial{left: trialSyncs, over: make(chan error, 1)}
	}

	h.switchTo(next, t)
	if same {
		klog.InfoS("Plugin has another configuration", "plugin", c.Name, "digest", shortDigest(next.Digest))
		h.m.metrics.Swaps.WithLabelValues(c.Name, "reconfigured").Inc()
		h.m.history.add(c.Name, state.SwapReconfigured, was.choice, next.choice, nil)
		if was.rights != next.rights { // nothing more is written by the old ones
			was.revoke()
		}
		h.m.slots.Go(func() { h.drain(was) })
		return nil
	}

	klog.InfoS("Plugin was replaced", "plugin", c.Name, "from", shortDigest(was.Digest), "to", shortDigest(next.Digest),
		"origin", next.loaded.String())
	h.mu.Lock()
	h.before, h.trial = was, t
	h.mu.Unlock()
	h.m.history.add(c.Name, state.SwapOnTrial, was.choice, next.choice, nil)
	go h.awaitTrial(t)
	return nil
}

// fill waits until the caches have what a generation reads.
func (g *generation) fill(ctx context.Context, x *stores) error {
	if len(g.loaded.Missing) > 0 {
		return nil // it idles and doesn't need them
	}
	ctx, cancel := context.WithTimeout(ctx, fillMax)
	defer cancel()
	for name, r := range g.readings {
		if err := r.waitForCaches(ctx, x); err != nil {
			return fmt.Errorf("controller %s: the new version's caches can't be filled: %w", name, err)
		}
	}
	return nil
}

// revoke has the syncs in flight of a generation write nothing more; their keys are synced again.
func (g *generation) revoke() {
	for _, v := range g.versions {
		v.Writer.Revoke()
	}
}

// switchTo has all slots of a plugin begin their syncs on a generation, starts those that are new, ends those that it
// doesn't have, and wakes all keys.
func (h *hosted) switchTo(g *generation, t *trial) {
	k := h.m.applied.Load().config
	h.limits.setBounds(k.Plugin(h.name), g)
	h.mu.Lock()
	h.present, h.loaded = g, time.Now()
	var ended []*slot
	for name, s := range h.slots {
		if g.versions[name] == nil {
			ended = append(ended, s)
			delete(h.slots, name)
		}
	}

	h.mu.Unlock()
	for _, s := range ended {
		s.stopAndWait()
	}

	for name, v := range g.versions {
		s := h.slotNamed(name)
		if s.started.Load() && (len(g.loaded.Missing) > 0 || len(g.readings[name].denied) > 0) {
			s.stopAndWait() // it idles from now on, as if it had begun so
			s = h.m.newSlot(k, v)
			h.mu.Lock()
			h.slots[name] = s
			h.mu.Unlock()
			v.Writer.Lead()
		}
		if s.Current() != v {
			s.Swap(v, t.syncObserver())
		}
		s.setReading(g.readings[name], g.loaded.Missing)
		if s.stop == nil {
			h.m.startSlot(s)
		}
	}
	h.wake(g)
}

// wake wakes every key of a generation: it may decide otherwise on keys that nothing has happened to.
func (h *hosted) wake(g *generation) {
	for name, v := range g.versions {
		if s := h.slotNamed(name); s != nil && !h.m.leaders.standsBy(s) {
			v.Plan.Keys(h.m.stores, func(k abi.KeyRef) { s.Wake(k) })
		}
	}
}

// trial counts the syncs of a new generation.
type trial struct {
	mu   sync.Mutex
	left int
	over chan error // gets the end, nil for a good one
	done bool
}

// syncObserver returns what a trial has to be told of each sync; nil without a trial.
func (t *trial) syncObserver() func(failed error) bool {
	if t == nil {
		return nil
	}
	return t.countSync
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
	h.mu.Lock()
	current := h.trial == t
	h.mu.Unlock()
	if !current || h.m.closed {
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
		h.drain(old)
	}
}

// takeFallback ends the trial, and returns the generation that there was to fall back on.
func (h *hosted) takeFallback() *generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.before
	if h.trial != nil {
		h.trial.endTrial()
	}
	h.before, h.trial = nil, nil
	return old
}

// drain frees a generation once its last sync in flight has ended.
func (h *hosted) drain(old *generation) {
	for _, r := range old.readings {
		r.endReading()
	}
	for _, v := range old.versions {
		if err := v.Drain(h.m.held); err != nil {
			return // the process ends
		}
	}
	if err := old.close(); err != nil {
		klog.ErrorS(err, "Can't free a plugin that was replaced", "plugin", h.name, "digest", shortDigest(old.loaded.Digest))
	}
}

// rollBack puts the module before back, under the present configuration; what the failed one still answers is dropped,
// and its keys synced again.
func (h *hosted) rollBack(failed error) {
	old, g := h.takeFallback(), h.present
	h.mu.Lock()
	h.failed.add(g.core, failed)
	h.mu.Unlock()
	back, err := h.asConfigured(old)
	if err != nil {
		klog.ErrorS(err, "Plugin failed its trial and stays all the same: the version before can't run under the present configuration", "plugin", h.name, "failed", failed, "digest", shortDigest(g.Digest))
		h.m.metrics.Swaps.WithLabelValues(h.name, "failed").Inc()
		h.m.history.noteTrialEnd(h.name, state.SwapStays,
			fmt.Errorf("%w; but the version before can't run as it is configured now: %w", failed, err))
		h.drain(old)
		return
	}

	klog.ErrorS(failed, "Plugin was rolled back: the new version failed its trial", "plugin", h.name, "from",
		shortDigest(g.Digest), "to", shortDigest(back.Digest))
	h.m.metrics.Swaps.WithLabelValues(h.name, "rolled-back").Inc()
	h.m.history.noteTrialEnd(h.name, state.SwapRolledBack, failed)
	g.revoke()
	h.restore(back)
	h.switchTo(back, nil)
	h.drain(g)
	if back != old {
		h.drain(old)
	}
}

// asConfigured returns a generation if it is as the present configuration would have it, and another one of its module
// if it isn't: an older, wider grant never comes back.
func (h *hosted) asConfigured(old *generation) (*generation, error) {
	now := h.m.applied.Load()
	c, err := h.m.loader.rechoose(now.config, old.choice, now.list)
	if err != nil {
		return nil, err
	}
	if c.fingerprint() == old.fingerprint() {
		return old, nil
	}
	g, err := h.load(h.m.work, now.config, c)
	if err != nil {
		return nil, err
	}
	if err := g.fill(h.m.work, h.m.stores); err != nil {
		h.forgetSlots(g)
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// restore makes slots for those controllers of a generation that have been ended since.
func (h *hosted) restore(g *generation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, v := range g.versions {
		if h.slots[name] == nil {
			k := h.m.applied.Load().config
			h.slots[name] = h.m.newSlot(k, v)
		}
	}
}

// forgetSlots takes away the slots that a generation which never ran had made.
func (h *hosted) forgetSlots(g *generation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range g.versions {
		if h.present != nil && h.present.versions[name] == nil {
			delete(h.slots, name)
		}
	}
}

// remove ends a plugin. The caller holds changing.
func (h *hosted) remove() {
	h.m.roster.remove(h)
	h.m.history.add(h.name, state.SwapRemoved, h.present.choice, nil, nil)
	h.removeShadow()
	for _, s := range h.allSlots() {
		s.stopAndWait()
	}
	if err := h.close(); err != nil {
		klog.ErrorS(err, "Can't free a plugin that was removed", "plugin", h.name)
	}
	klog.InfoS("Plugin was removed", "plugin", h.name)
}
