package manager

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
)

// coming are the plugins that aren't built in and were chosen when the manager began. They are compiled while the
// others run already: a thousand of them mustn't hold up what the cluster lives by. They come and go by who holds
// manager.changing.
type coming struct {
	mu  sync.Mutex
	all map[string]*choice
}

// set makes these the plugins that are to come.
func (x *coming) set(all []*choice) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = map[string]*choice{}
	for _, c := range all {
		x.all[c.Name] = c
	}
}

// take reports whether a plugin is still to come so, and ends that.
func (x *coming) take(c *choice) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all[c.Name] != c {
		return false
	}
	delete(x.all, c.Name)
	return true
}

// awaits reports whether a plugin is to come as it is chosen now; if it is to come otherwise, it isn't any longer.
func (x *coming) awaits(c *choice) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.all[c.Name]
	if was != nil && was.fingerprint() != c.fingerprint() {
		delete(x.all, c.Name)
		return false
	}
	return was != nil
}

// keep has no others come than those of these names.
func (x *coming) keep(names []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.all {
		if !slices.Contains(names, name) {
			delete(x.all, name)
		}
	}
}

// list returns the plugins that are to come, sorted by name.
func (x *coming) list() []*choice {
	x.mu.Lock()
	defer x.mu.Unlock()
	return sortedValues(x.all)
}

// hasController reports whether a controller is one of a plugin that is to come.
func (x *coming) hasController(name string) bool {
	return slices.ContainsFunc(x.list(), func(c *choice) bool {
		return slices.ContainsFunc(c.controllers, func(i int) bool { return c.Manifest.Controllers[i].Name == name })
	})
}

// errComing is what readiness says of a plugin that is to come.
var errComing = errors.New("its module is being compiled")

// split returns those of the chosen plugins that the manager begins with, and those that come then.
func split(chosen []*choice) (first, then []*choice) {
	for _, c := range chosen {
		if c.Origin == plugins.OriginBuiltin {
			first = append(first, c)
		} else {
			then = append(then, c)
		}
	}
	return first, then
}

// beginComing loads the plugins that aren't built in, each on its own, and starts what it has. The caller holds
// changing.
func (m *manager) beginComing(k *config.Configuration, then []*choice) {
	var fit []*choice
	for _, c := range then {
		if err := m.loader.identify(k, c); err != nil {
			m.leaveOut(err)
			continue
		}
		fit = append(fit, c)
	}
	m.coming.set(fit)

	next := make(chan *choice, len(fit))
	for _, c := range fit {
		next <- c
	}
	close(next)
	for range min(len(fit), runtime.GOMAXPROCS(0)) {
		m.slots.Go(func() {
			for c := range next {
				m.bring(m.work, k, c)
			}
		})
	}
}

// bring loads a plugin that is to come and starts it, unless the configuration has changed what it is to be.
func (m *manager) bring(ctx context.Context, k *config.Configuration, c *choice) {
	if ctx.Err() != nil {
		return
	}
	h := newHosted(m, k, c.Name)
	g, err := m.loader.open(ctx, k, c, h.limits)

	m.changing.Lock()
	defer m.changing.Unlock()
	if m.closed || !m.coming.take(c) {
		if err == nil {
			if err := g.close(); err != nil {
				klog.ErrorS(err, "Can't close a plugin that never ran", "plugin", c.Name, "digest", shortDigest(c.Digest))
			}
		}
		h.limits.close()
		return
	}
	k = m.applied.Load().config // what else has changed changes no module
	if err == nil {
		err = h.makeVersions(k, g, true)
	}
	if err != nil {
		h.limits.close()
		if ctx.Err() == nil {
			m.leaveOut(err)
		}
		return
	}
	m.start(h, g)
	h.limits.setBounds(k.Plugin(c.Name), g)
	if err := h.applyShadow(ctx, k); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Shadow isn't loaded")
	}
}

// leaveOut goes on without a plugin.
func (m *manager) leaveOut(why error) {
	klog.ErrorS(why, "Plugin isn't loaded")
	m.chooser.leaveOut(why)
}

// start makes a loaded plugin one of those that run, and wakes its keys once its caches are filled: what is in them
// already makes no event. The caller holds changing.
func (m *manager) start(h *hosted, g *generation) {
	h.install(g)
	m.roster.add(h)
	h.noteBroken(g.Broken)
	for _, s := range h.slots.all() {
		m.startSlot(s)
	}
	readings := maps.Clone(g.readings)
	m.slots.Go(func() {
		if err := m.stores.waitForAll(m.work, readings); err == nil {
			h.wake(g)
		}
	})
}
