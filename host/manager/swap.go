package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/state"
)

// swap brings a generation that is to take the place of a plugin's present one: at once where the caches have what it
// reads, and otherwise once they have, if it may wait. It reports whether it has taken it. The caller holds changing.
func (h *hosted) swap(ctx context.Context, k *config.Configuration, c *choice, mayWait bool) (bool, error) {
	g, err := h.load(ctx, k, c, false)
	if err != nil {
		return false, err
	}
	switch {
	case g.isFilled(h.m.stores):
		h.replace(g)
		return true, nil
	case !mayWait:
		return false, errors.Join(errUnfilled, g.close())
	}
	h.await(&next{generation: g, take: func() { h.replace(g) }})
	return false, nil
}

// replace puts a generation in the place of a plugin's present one while its controllers run. Another module is on
// trial; the same one under another configuration isn't, for that is the operator's word: it goes on with the trial
// that it is on, if any. The caller holds changing.
func (h *hosted) replace(next *generation) {
	same := next.Digest == h.present.Digest
	if !same {
		h.settle() // there is room for one to fall back on
	}

	h.restore(next)
	was, before, t := h.present, h.before, h.trial
	if !same {
		before, t = was, &trial{left: trialSyncs, over: make(chan error, 1)}
	}

	h.revokeOthers(next.rights)
	h.switchTo(next, t, before)
	if same {
		klog.InfoS("Plugin has another configuration", "plugin", h.name, "digest", shortDigest(next.Digest))
		h.m.metrics.Swaps.WithLabelValues(h.name, "reconfigured").Inc()
		h.m.history.add(h.name, state.SwapReconfigured, was.choice, next.choice, nil)
		h.drainLater(was)
		return
	}

	klog.InfoS("Plugin was replaced", "plugin", h.name, "from", shortDigest(was.Digest), "to", shortDigest(next.Digest),
		"origin", next.loaded.String())
	h.mu.Lock()
	h.before, h.trial = was, t
	h.mu.Unlock()
	h.m.history.add(h.name, state.SwapOnTrial, was.choice, next.choice, nil)
	go h.awaitTrial(t)
}

// revoke has the syncs in flight of a generation write nothing more; their keys are synced again.
func (g *generation) revoke() {
	g.revoked = true
	for _, v := range g.versions {
		v.Writer.Revoke()
	}
}

// revokeOthers has nothing more be written under other rights, whoever waits for syncs in flight.
func (h *hosted) revokeOthers(rights string) {
	for _, g := range h.loadedOnes() {
		if g.rights != rights {
			g.revoke()
		}
	}
}

// revokeOne has one controller of a generation write nothing more; unless it is the present one, nothing may go on from
// it.
func (g *generation) revokeOne(name string, present bool) {
	if v := g.versions[name]; v != nil {
		v.Writer.Revoke()
		g.revoked = g.revoked || !present
	}
}

// switchTo has all slots of a plugin begin their syncs on a generation, starts those that are new, ends those that it
// doesn't have, and wakes all keys. If it is on trial, before is the generation to fall back on.
func (h *hosted) switchTo(g *generation, t *trial, before *generation) {
	k := h.m.applied.Load().config
	h.limits.setBounds(k.Plugin(h.name), g)
	h.mu.Lock()
	h.present, h.loaded = g, time.Now()
	h.mu.Unlock()
	if gone := h.slots.without(g.versions); len(gone) > 0 {
		h.m.leave(gone, func() {})
	}

	for name, v := range g.versions {
		s := h.slots.named(name)
		if s.started.Load() && (len(g.loaded.Missing) > 0 || len(g.readings[name].denied) > 0) {
			h.m.leave([]*slot{s}, func() {}) // it idles from now on, as if it had begun so
			s = h.newSlot(k, v)
			h.slots.put(s)
			v.Writer.Lead()
		}
		if s.Current() != v {
			s.Swap(v, t.ofController(name, before))
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
		if s := h.slots.named(name); s != nil && !h.m.leaders.standsBy(s) {
			v.Plan.Keys(h.m.stores, func(k abi.KeyRef) { s.Wake(k) })
		}
	}
}

// drainLater frees a generation once its last sync in flight has ended; nobody waits for that.
func (h *hosted) drainLater(old *generation) {
	h.mu.Lock()
	h.drained = append(h.drained, old)
	h.mu.Unlock()
	h.m.slots.Go(func() {
		h.drain(old)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drained = slices.DeleteFunc(h.drained, func(g *generation) bool { return g == old })
	})
}

// loadedOnes are the generations of which syncs may be in flight.
func (h *hosted) loadedOnes() []*generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(slices.Clone(h.drained), h.present)
	if h.before != nil {
		all = append(all, h.before)
	}
	return slices.DeleteFunc(all, func(g *generation) bool { return g.shadow })
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
		klog.ErrorS(err, "Can't close a replaced plugin", "plugin", h.name, "digest", shortDigest(old.loaded.Digest))
	}
}

// remove ends a plugin: its controllers begin nothing more, and it is closed when their syncs in flight have ended, for
// which nobody waits. The caller holds changing.
func (h *hosted) remove() {
	h.m.roster.remove(h)
	h.m.history.add(h.name, state.SwapRemoved, h.present.choice, nil, nil)
	h.dropNext()
	h.removeShadow()
	for _, g := range h.loadedOnes() {
		g.revoke()
	}
	before := h.takeFallback()
	klog.InfoS("Plugin was turned off", "plugin", h.name)
	over := h.m.leavingPlugins.begin(h.name)
	h.m.leave(h.slots.all(), func() {
		defer over()
		var err error
		if before != nil {
			err = before.close()
		}
		if err = errors.Join(err, h.close()); err != nil {
			klog.ErrorS(err, "Can't close a removed plugin", "plugin", h.name)
		}
		klog.InfoS("Plugin was removed", "plugin", h.name)
	})
}
