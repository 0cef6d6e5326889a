package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/plugins"
)

// hosted is a plugin that runs here, with a slot for each of its enabled controllers.
type hosted struct {
	m      *manager
	name   string
	limits *limits
	slots  slots
	tried  tried

	// All this is changed by who holds manager.changing, and mu; holding one of them is enough to look at it.
	mu        sync.Mutex
	present   *generation
	before    *generation   // stays loaded while the present one's module is on trial
	trial     *trial        // nil: there is none
	shadow    *generation   // gets the same calls, and writes nothing
	shadowing string        // the fingerprint of the shadow that is being loaded; "": none is
	next      *next         // waits for its caches; nil: none does
	drained   []*generation // whose last syncs in flight haven't ended
	loaded    time.Time
}

func newHosted(m *manager, k *config.Configuration, name string) *hosted {
	return &hosted{m: m, name: name, limits: newLimits(k.Plugin(name), m.memory)}
}

// generation is one module with its settings and rights, and the version that it gives each controller.
type generation struct {
	*choice
	loaded   *plugins.Loaded
	settings config.Plugin // as it was configured
	accounts bool          // its controllers had service accounts of their own (useServiceAccountCredentials)
	revoked  bool          // nothing more is written by it
	shadow   bool          // its writers are those of the live one
	versions map[string]*controller.Version
	readings map[string]*reading
	made     []*slot // of controllers that had none; the plugin has them once it runs
}

// loadChosen loads the plugins that the manager begins with.
func (m *manager) loadChosen(ctx context.Context, k *config.Configuration, chosen []*choice) error {
	type opened struct {
		*hosted
		*generation
		err error
	}

	all := make([]opened, len(chosen))
	var opening sync.WaitGroup // what takes long, for all at once
	for i, c := range chosen {
		opening.Go(func() {
			o := &all[i]
			o.hosted = newHosted(m, k, c.Name)
			o.generation, o.err = m.loader.open(ctx, k, c, o.hosted.limits)
		})
	}

	opening.Wait()
	for i, c := range chosen {
		h, g, err := all[i].hosted, all[i].generation, all[i].err
		if err == nil {
			err = h.makeVersions(k, g, true)
		}
		if err != nil {
			for _, o := range all[i+1:] {
				if o.err == nil {
					err = errors.Join(err, o.generation.close())
				}
			}
			return err
		}
		h.install(g)
		m.roster.add(h)
		h.noteBroken(c.Broken)
	}
	return nil
}

// noteBroken takes note of why a plugin's file can't be used, nil: it can. It is told when that changes.
func (h *hosted) noteBroken(why error) {
	was := h.tried.noteBroken(why)
	switch {
	case why != nil && (was == nil || was.Error() != why.Error()):
		klog.ErrorS(why, "Plugin file can't be used: keeping the version that runs", "plugin", h.name, "digest",
			shortDigest(h.present.Digest))
		h.m.history.addFailure(h.name, h.present.choice, why, was != nil)
		if was == nil {
			h.m.metrics.Swaps.WithLabelValues(h.name, "failed").Inc()
		}
	case why == nil && was != nil:
		klog.InfoS("Plugin file can be used again", "plugin", h.name)
	}
}

// install makes a generation the present one of a plugin's slots before they run.
func (h *hosted) install(g *generation) {
	h.present, h.loaded = g, time.Now()
	h.putMade(g)
	for _, s := range h.slots.all() {
		s.setReading(g.readings[s.Name()], g.loaded.Missing)
	}
}

// putMade gives the plugin the slots that were made for a generation.
func (h *hosted) putMade(g *generation) {
	for _, s := range g.made {
		h.slots.put(s)
	}
	g.made = nil
}

// load makes a generation, and begins what its versions read. What they read wakes keys of its controllers if it is to
// run at once.
func (h *hosted) load(ctx context.Context, k *config.Configuration, c *choice, wakes bool) (*generation, error) {
	g, err := h.m.loader.open(ctx, k, c, h.limits)
	if err != nil {
		return nil, err
	}
	return g, h.makeVersions(k, g, wakes)
}

// makeVersions makes a generation's versions, and slots for controllers that the plugin hasn't had. After an error the
// generation is closed.
func (h *hosted) makeVersions(k *config.Configuration, g *generation, wakes bool) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("plugin %s: %w", g.Name, err), g.close())
		}
	}()

	var names []string
	for i := range g.loaded.Manifest.Controllers {
		names = append(names, g.loaded.Manifest.Controllers[i].Name)
	}
	own, err := h.m.metrics.Plugin(g.Name, g.loaded.Metrics, h.limits.memory, names...)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}

	for _, i := range g.controllers {
		manifest := &g.loaded.Manifest.Controllers[i]
		s := h.slots.named(manifest.Name)
		var after *effects.Writer
		if s != nil {
			after = s.Current().Writer
		}
		v, err := h.m.loader.version(k, g.loaded, i, g.choice, own, h, after)
		if err != nil {
			return err
		}
		g.versions[manifest.Name] = v
		if s == nil {
			s = h.newSlot(k, v)
			g.made = append(g.made, s)
		}
		woken := s
		if !wakes {
			woken = nil
		}
		if g.readings[manifest.Name], err = h.beginReading(woken, v); err != nil {
			return err
		}
	}
	return nil
}

// close frees a generation that no sync runs on.
func (g *generation) close() error {
	for name, v := range g.versions {
		if r := g.readings[name]; r != nil {
			r.endReading()
		}
		if !g.shadow {
			v.Writer.Close()
		}
	}
	if g.loaded == nil {
		return nil
	}
	return g.loaded.Close(context.Background())
}

// close frees all of a plugin whose slots have ended.
func (h *hosted) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	if h.next != nil {
		h.next.drop()
		errs = append(errs, h.next.close())
	}
	for _, g := range []*generation{h.before, h.present} {
		if g != nil {
			errs = append(errs, g.close())
		}
	}
	h.before, h.present, h.next = nil, nil, nil
	h.limits.close()
	return errors.Join(errs...)
}

func shortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}
