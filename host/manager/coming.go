package manager

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/state"
)

// coming are the plugins that aren't loaded yet: those that aren't built in and were chosen when the manager began, and
// all that are added later. They are compiled while the others run: neither a thousand of them nor one that can't be
// compiled may hold up what the cluster lives by. They come and go by who holds manager.changing.
type coming struct {
	mu  sync.Mutex
	all map[string]*arrival
}

// arrival is a plugin that is to come.
type arrival struct {
	*choice
	late   bool  // it was added while the manager ran: the process is ready without it
	trying bool  // it is being loaded, or will be as soon as others have been
	failed error // why it couldn't be loaded when that was last tried; nil: it wasn't
	again  time.Time
	pause  time.Duration // between the last try and the next one
}

// What couldn't be loaded is tried again, for the reason may have been the machine's; but seldom.
const (
	firstPause   = lookAgain
	longestPause = 10 * time.Minute
)

// set makes these the plugins that are to come before the process is ready.
func (x *coming) set(all []*choice) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = map[string]*arrival{}
	for _, c := range all {
		x.all[c.Name] = &arrival{choice: c, trying: true}
	}
}

// add has a plugin that doesn't run come, unless it is to come already or has failed a short while ago: then begins is
// false, and there is nothing to do.
func (x *coming) add(c *choice, now time.Time) (begins bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = map[string]*arrival{}
	}
	a := x.all[c.Name]
	switch {
	case a == nil || a.fingerprint() != c.fingerprint():
		a = &arrival{late: true}
		x.all[c.Name] = a
	case a.trying || now.Before(a.again):
		return false
	}
	a.choice, a.trying = c, true
	return true
}

// take reports whether a plugin is still to come so, and ends that.
func (x *coming) take(c *choice) (a *arrival, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a = x.all[c.Name]
	if a == nil || a.choice != c {
		return nil, false
	}
	delete(x.all, c.Name)
	return a, true
}

// fail takes note of why a plugin that was taken couldn't be loaded; first: it hasn't failed so before.
func (x *coming) fail(a *arrival, why error, now time.Time) (first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	first = a.failed == nil || a.failed.Error() != why.Error()
	a.failed, a.trying = why, false
	a.pause = min(max(2*a.pause, firstPause), longestPause)
	a.again = now.Add(a.pause)
	x.all[a.Name] = a
	return first
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

// list returns the plugins that are to come and haven't failed yet, sorted by name.
func (x *coming) list() []*arrival {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(sortedValues(x.all), func(a *arrival) bool { return a.failed != nil })
}

// failures says of each plugin that couldn't be loaded why, sorted by their names.
func (x *coming) failures() (all []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range sortedValues(x.all) {
		if a.failed != nil {
			all = append(all, a.failed.Error())
		}
	}
	return all
}

// hasController reports whether a controller is one of a plugin that is to come and hasn't failed yet.
func (x *coming) hasController(name string) bool {
	return slices.ContainsFunc(x.list(), func(a *arrival) bool {
		return slices.ContainsFunc(a.controllers, func(i int) bool { return a.Manifest.Controllers[i].Name == name })
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

// beginComing loads the plugins that aren't built in, and starts what each has. The caller holds changing.
func (m *manager) beginComing(k *config.Configuration, then []*choice) {
	var fit []*choice
	for _, c := range then {
		if err := m.loader.identify(k, c); err != nil {
			klog.ErrorS(err, "Plugin isn't loaded")
			continue
		}
		fit = append(fit, c)
	}
	m.coming.set(fit)
	for _, c := range fit {
		m.bring(k, c)
	}
}

// bring loads a plugin that is to come and starts it, as soon as not too many others are loaded at the same time.
func (m *manager) bring(k *config.Configuration, c *choice) {
	m.slots.Go(func() {
		if !m.awaitPredecessors(c) {
			return
		}
		_ = m.whenFewAreLoading(m.work, func() error {
			m.arrive(m.work, k, c)
			return nil
		})
	})
}

// whenFewAreLoading loads something as soon as not too many others are loaded at the same time; ctx's end is an error.
func (m *manager) whenFewAreLoading(ctx context.Context, load func() error) error {
	select {
	case m.arriving <- struct{}{}:
		defer func() { <-m.arriving }()
		return load()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// arrive loads a plugin that is to come and starts it, unless the configuration has changed what it is to be.
func (m *manager) arrive(ctx context.Context, k *config.Configuration, c *choice) {
	if ctx.Err() != nil {
		return
	}
	h := newHosted(m, k, c.Name)
	g, err := m.loader.open(ctx, k, c, h.limits)

	m.changing.Lock()
	defer m.changing.Unlock()
	a, wanted := m.coming.take(c)
	if m.closed || !wanted {
		closeUnused(g, err)
		h.limits.close()
		return
	}
	k = m.applied.Load().config // what else has changed changes no module
	if err == nil {
		err = h.makeVersions(k, g, true)
	}
	if err != nil {
		h.limits.close()
		if ctx.Err() == nil && m.coming.fail(a, err, time.Now()) {
			klog.ErrorS(err, "Plugin isn't loaded: it is tried again now and then, and once it changes")
		}
		return
	}
	if a.late {
		m.history.add(c.Name, state.SwapAdded, nil, c, nil)
		m.metrics.Reloads.WithLabelValues("ok").Inc()
		klog.InfoS("Plugin was added", "plugin", c.Name, "digest", shortDigest(c.Digest), "origin", c.Plugin.String())
	}
	m.start(h, g)
	h.limits.setBounds(k.Plugin(c.Name), g)
	if err := h.applyShadow(ctx, k); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Shadow isn't loaded")
	}
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
