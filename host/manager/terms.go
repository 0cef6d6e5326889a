package manager

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/schema"
)

// runGroup runs a group's controllers until ctx ends and they have stopped.
func (m *manager) runGroup(ctx context.Context, g *group) {
	began := time.Now()
	m.changing.Lock()
	if m.closed || ctx.Err() != nil {
		m.changing.Unlock()
		return
	}
	g.work, g.proofs = ctx, newProofs(m.stores.cache, m.leaders.currency)
	err := m.startGroup(ctx, g)
	m.changing.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			m.fail(err)
		}
	} else {
		klog.InfoS("Leading", "group", g.Name, "lease", g.LeaseName, "took", time.Since(began))
	}
	<-ctx.Done()
	g.waitForWorkers() // it needn't wait for a reload that is under way
	m.changing.Lock()
	defer m.changing.Unlock()
	g.waitForWorkers()
	g.work, g.proofs = nil, nil
	if !m.closed && m.work.Err() == nil {
		m.resetGroup(g)
	}
}

// startGroup starts a group's controllers. The caller holds changing.
func (m *manager) startGroup(ctx context.Context, g *group) error {
	if !m.begun {
		// A cold standby begins with its first Lease.
		m.mu.Lock()
		k := m.config
		m.mu.Unlock()
		chosen, err := m.choosePlugins(ctx, k)
		if err != nil {
			return err
		}
		if err := m.loadChosen(m.work, k, chosen); err != nil {
			return err
		}
		m.begun = true
		m.startAll(g)
		m.shadeAll(ctx, k)
		return nil
	}

	for _, h := range m.allHosted() {
		for _, s := range h.allSlots() {
			if m.leaders.groupOf(s.Current().Manifest) == g {
				if err := m.rereadSlot(h, s); err != nil {
					return err
				}
			}
		}
	}
	m.startAll(g)
	return nil
}

// resetGroup puts slots that haven't run in the places of a group's, which have stopped. The caller holds changing.
func (m *manager) resetGroup(g *group) {
	m.mu.Lock()
	k := m.config
	m.mu.Unlock()
	for _, h := range m.allHosted() {
		for _, old := range h.allSlots() {
			v := old.Current()
			if m.leaders.groupOf(v.Manifest) != g {
				continue
			}

			m.removeShadow(h)
			s := m.newSlot(k, v)
			h.mu.Lock()
			h.slots[s.Name()] = s
			trial := h.trial
			h.mu.Unlock()
			if trial != nil {
				s.Swap(v, trial.syncObserver()) // it goes on with the next term
			}

			v.Writer.Anew()
			if b, ok := v.Metrics.(*metrics.Controller); ok {
				b.Anew()
			}
			if err := m.rereadSlot(h, s); err != nil {
				klog.ErrorS(err, "Caches aren't kept for a controller", "controller", s.Name())
			}
		}
	}
	m.shadeAll(m.work, k)
}

// startAll starts the slots of a group, of none if it is nil. The caller holds changing.
func (m *manager) startAll(g *group) {
	for _, h := range m.allHosted() {
		for _, s := range h.allSlots() {
			if m.leaders.groupOf(s.Current().Manifest) == g && s.stop == nil {
				m.startSlot(s)
			}
		}
	}
}

// rereadSlot has a slot's versions read what they do from now on: whatever the controller needs while its Lease is
// held, what keeps the caches warm while it isn't.
func (m *manager) rereadSlot(h *hosted, s *slot) error {
	h.mu.Lock()
	all := []*generation{h.before, h.present}
	h.mu.Unlock()
	for _, g := range all {
		if g == nil || g.versions[s.Name()] == nil {
			continue
		}
		r, err := m.beginReadingAs(s, g.versions[s.Name()])
		if err != nil {
			return err
		}
		old := g.readings[s.Name()]
		g.readings[s.Name()] = r
		if g == h.present {
			s.setReading(r, g.loaded.Missing)
		}
		if old != nil {
			old.endReading()
		}
	}
	return nil
}

// beginReadingAs begins what a version of a slot reads.
func (m *manager) beginReadingAs(s *slot, v *controller.Version) (*reading, error) {
	switch g := m.leaders.groupOf(v.Manifest); {
	case g == nil || g.work != nil:
		return m.stores.beginReading(s.Controller, v)
	case !m.leaders.isColdStandby():
		return m.stores.beginReading(nil, v)
	}
	return &reading{denied: v.Plan.Denied()}, nil
}

// standsBy reports whether the slot's Lease is another process's.
func (m *manager) standsBy(s *slot) bool {
	g := m.leaders.groupOf(s.Current().Manifest)
	return g != nil && !g.lease.Leading()
}

// standsByWith reports whether no controller of a plugin runs here for want of its Lease.
func (m *manager) standsByWith(h *hosted) bool {
	all := h.allSlots()
	return len(all) > 0 && !slices.ContainsFunc(all, func(s *slot) bool { return !m.standsBy(s) })
}

// readyToLead reports whether a slot that stands by has what it needs.
func (m *manager) readyToLead(s *slot) error {
	reading, _, _ := s.currentReading()
	for _, n := range reading.needs {
		if n.Resource == schema.Any {
			if !m.stores.monitors.settled() {
				return errStarting
			}
		} else if store := m.stores.cache.Store(n.Resource); store != nil && !store.Synced() {
			return errStarting
		}
	}
	return nil
}

// current waits until the caches of a slot that is about to run are, and wakes all its keys: nothing has woken any
// while the slot stood by.
func (m *manager) current(ctx context.Context, p *proofs, s *slot) bool {
	if p == nil {
		return true // events have
	}
	reading, _, _ := s.currentReading()
	if err := p.waitForReads(ctx, reading); err != nil {
		return false
	}
	s.Current().Plan.Keys(m.stores, func(k abi.KeyRef) { s.Wake(k) })
	return true
}

// addWorker and removeWorker count the group's workers.
func (g *group) addWorker() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
}

func (g *group) removeWorker() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.idle.Broadcast()
}

func (g *group) waitForWorkers() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.running > 0 {
		g.idle.Wait()
	}
}
