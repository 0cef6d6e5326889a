package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/views"
)

// startUnled starts the controllers that need no Lease, and has the plugins that aren't built in come; a cold standby
// has none yet.
func (m *manager) startUnled(ctx context.Context, k *config.Configuration, then []*choice) {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.startAll(nil)
	m.shadeAll(ctx, k)
	if m.begun {
		m.beginComing(k, then)
	}
}

// beginTerm starts a group's controllers; not begun: the term or the manager has ended before.
func (m *manager) beginTerm(ctx context.Context, g *group) (begun bool, err error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	if m.closed || ctx.Err() != nil {
		return false, nil
	}
	g.work, g.proofs = ctx, newProofs(m.stores, m.leaders.currency)
	return true, m.startGroup(ctx, g)
}

// runGroup runs a group's controllers until ctx ends and they have stopped.
func (m *manager) runGroup(ctx context.Context, g *group) {
	began := time.Now()
	begun, err := m.beginTerm(ctx, g)
	if !begun {
		return
	}
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
		k := m.applied.Load().config
		chosen, err := m.chooser.choose(ctx, k, m.roster.found())
		if err != nil {
			return err
		}
		_, chosen, errs := m.keepFit(k, chosen)
		m.refusal.note(errors.Join(errs...))
		first, then := split(chosen)
		m.coming.set(then)
		if err := m.loadChosen(m.work, k, first); err != nil {
			return err
		}
		m.begun = true
		m.startAll(g)
		m.shadeAll(ctx, k)
		m.beginComing(k, then)
		return nil
	}

	for _, h := range m.roster.all() {
		for _, s := range h.slots.all() {
			if m.leaders.groupOf(s.Current().Manifest) == g {
				if err := h.reread(s, h.before, h.present); err != nil {
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
	k := m.applied.Load().config
	for _, h := range m.roster.all() {
		for _, old := range h.slots.all() {
			if m.leaders.groupOf(old.Current().Manifest) == g {
				h.resetSlot(k, old)
			}
		}
	}
	m.shadeAll(m.work, k)
}

// resetSlot puts a slot that hasn't run in the place of one that has stopped.
func (h *hosted) resetSlot(k *config.Configuration, old *slot) {
	h.removeShadow()
	v := old.Current()
	old.Forget()
	s := h.newSlot(k, v)
	h.slots.put(s)
	if h.trial != nil {
		s.Swap(v, h.trial.ofController(s.Name(), h.before)) // it goes on with the next term
	}

	v.Writer.Anew()
	v.Plan.Forget()
	if b, ok := v.Metrics.(*metrics.Controller); ok {
		b.Anew()
	}
	if err := h.reread(s, h.before, h.present); err != nil {
		klog.ErrorS(err, "Can't keep a controller's caches for its next term, which will begin with filling them", "controller",
			s.Name())
	}
}

// startAll starts the slots of a group, of none if it is nil. The caller holds changing.
func (m *manager) startAll(g *group) {
	for _, h := range m.roster.all() {
		for _, s := range h.slots.all() {
			if m.leaders.groupOf(s.Current().Manifest) == g && s.stop == nil {
				m.startSlot(s)
			}
		}
	}
}

// reread has a slot's versions in generations read what they do from now on: whatever the controller needs while its
// Lease is held, what keeps the caches warm while it isn't.
func (h *hosted) reread(s *slot, all ...*generation) error {
	for _, g := range all {
		if g == nil || g.versions[s.Name()] == nil {
			continue
		}
		r, err := h.beginReading(s, g.versions[s.Name()])
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

// beginReading begins what a version of a slot reads; without one its events wake nothing.
func (h *hosted) beginReading(s *slot, v *controller.Version) (*reading, error) {
	switch g := h.m.leaders.groupOf(v.Manifest); {
	case s != nil && (g == nil || g.work != nil):
		return h.m.stores.beginReading(s.Controller, v)
	case g == nil || g.work != nil || !h.m.leaders.isColdStandby():
		return h.m.stores.beginReading(nil, v)
	}
	return &reading{denied: v.Plan.Denied()}, nil
}

// standsBy reports whether the slot's Lease is another process's.
func (x *leaders) standsBy(s *slot) bool {
	g := x.groupOf(s.Current().Manifest)
	return g != nil && !g.lease.Leading()
}

// standsBy reports whether no controller of a plugin runs here for want of its Lease.
func (h *hosted) standsBy() bool {
	all := h.slots.all()
	return len(all) > 0 && !slices.ContainsFunc(all, func(s *slot) bool { return !h.m.leaders.standsBy(s) })
}

// readyToLead reports whether a slot that stands by has what it needs.
func (s *slot) readyToLead(x *stores) error {
	reading, _, _ := s.currentReading()
	all := slices.ContainsFunc(reading.needs, func(n views.Need) bool { return n.Resource == schema.Any })
	if all && !x.monitors.settled() {
		return errStarting
	}
	for _, r := range reading.states(x) {
		if part := reading.parts[r.Resource]; part != nil && !part.Current() && !apierrors.IsNotFound(r.Err) {
			return errStarting
		}
	}
	return nil
}

// catchUp waits until the caches of a slot that is about to run are current, and wakes all its keys: nothing has woken
// any while the slot stood by. It returns false when ctx has ended.
func (s *slot) catchUp(ctx context.Context, p *proofs, x *stores) bool {
	if p == nil {
		return true // events have
	}
	reading, _, _ := s.currentReading()
	if err := p.waitForReads(ctx, reading); err != nil {
		return false
	}
	s.Current().Plan.Keys(x, func(k abi.KeyRef) { s.Wake(k) })
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
