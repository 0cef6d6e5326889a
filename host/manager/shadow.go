package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/syncer"
)

// applyShadow has the shadow that the configuration names shadow a plugin's controllers, or takes it away. The caller
// holds changing.
func (h *hosted) applyShadow(ctx context.Context, k *config.Configuration) error {
	p := k.Plugin(h.name)
	name := p.Shadow
	if name == "" {
		h.tried.noteShadow("")
		h.removeShadow()
		return nil
	}

	module, err := h.m.chooser.shadowModule(&p)
	if err != nil {
		return fmt.Errorf("plugins[%s].shadow: %w", h.name, err)
	}
	if module == nil {
		h.m.chooser.sayOnce("waits for the shadow of "+h.name, func() {
			klog.InfoS("Pulling the shadow's image", "plugin", h.name,
				"image", name)
		})
		return nil // until then the one before goes on, if there is one
	}

	c, err := h.chooseShadow(ctx, module)
	if err != nil {
		return fmt.Errorf("plugins[%s].shadow: %w", h.name, err)
	}

	if err := h.m.loader.identify(k, c); err != nil {
		return err
	}
	print := c.fingerprint()
	h.tried.noteShadow("shadow " + print)
	present, tried := h.shadow, h.tried.get("shadow "+print)
	switch {
	case present != nil && present.fingerprint() == print, h.shadowing == print:
		return nil
	case tried != nil:
		return fmt.Errorf("plugins[%s].shadow: %s failed before, and is retried once it changes: %w", h.name, name, tried)
	}

	h.removeShadow()
	h.shadowing = print
	wanted := func() bool { return h.shadowing == print }
	h.loadBeside(h.m.work, k, c, h.limits.ofShadow(), wanted, func(g *generation, err error) {
		h.shadowing = ""
		if err == nil {
			err = h.makeShadow(h.m.applied.Load().config, c, g)
		}
		if err != nil {
			h.tried.add("shadow "+print, err)
			h.m.lookSoon() // which tells
			return
		}
		h.installShadow(g)
	})
	return nil
}

// installShadow has a loaded shadow be asked once its caches are filled. The caller holds changing.
func (h *hosted) installShadow(g *generation) {
	h.mu.Lock()
	h.shadow = g
	h.mu.Unlock()
	klog.InfoS("Plugin has a shadow", "plugin", h.name, "shadow", g.loaded.String(), "digest",
		shortDigest(g.loaded.Digest))
	if g.isFilled(h.m.stores) {
		h.beginShadow(g)
		return
	}
	readings := maps.Clone(g.readings)
	h.m.slots.Go(func() {
		if err := h.m.stores.waitForAll(h.m.work, readings); err != nil {
			return
		}
		h.m.changing.Lock()
		defer h.m.changing.Unlock()
		if h.shadow == g && !h.m.closed {
			h.beginShadow(g)
		}
	})
}

// beginShadow has a plugin's controllers ask the shadow, too. The caller holds changing.
func (h *hosted) beginShadow(g *generation) {
	for name, v := range g.versions {
		s := h.slots.named(name)
		if s == nil {
			continue // it was ended meanwhile
		}
		synced, differ := h.m.metrics.ShadowSyncs.WithLabelValues(name), h.m.metrics.ShadowDifferences.WithLabelValues(name)
		s.SetShadow(&controller.Shadow{Version: v, Compared: func(d *controller.Difference) {
			synced.Inc()
			if d == nil {
				return
			}
			differ.Inc()
			s.differences.Add(*d)
			klog.InfoS("The shadow's answer differs from the running version's", "controller", name,
				"key", d.Key, "shadow", shortDigest(d.Shadow),
				"difference", strings.TrimSpace(d.Text[:min(len(d.Text), 1000)]))
		}})
	}
	h.wake(h.present)
}

// chooseShadow reads the module's manifest, and finds those of its controllers that run here.
func (h *hosted) chooseShadow(ctx context.Context, p *plugins.Plugin) (*choice, error) {
	f, err := h.m.chooser.finder.Read(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &choice{Found: f}
	c.Name = h.name // its settings and rights are the plugin's
	for i, x := range f.Manifest.Controllers {
		if h.slots.named(x.Name) != nil {
			c.controllers = append(c.controllers, i)
		}
	}
	if len(c.controllers) == 0 {
		return nil, fmt.Errorf("%s has none of the plugin's controllers", p)
	}
	return c, c.compile()
}

// makeShadow makes what was loaded the generation of a shadow: it reads what it declares, and wakes nobody. After an
// error it is closed.
func (h *hosted) makeShadow(k *config.Configuration, c *choice, g *generation) (err error) {
	g.shadow = true
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()

	source, err := h.m.loader.recorded(k, g.loaded, c)
	if err != nil {
		return err
	}

	for _, i := range c.controllers {
		manifest := &g.loaded.Manifest.Controllers[i]
		if _, err := narrowPlan(k, c.Name, c.plans[i]); err != nil { // it sees no more than the plugin may
			return fmt.Errorf("controller %s: %w", manifest.Name, err)
		}
		s := h.slots.named(manifest.Name)
		// The live Writer tells apart what is an echo; a shadow writes nothing, so it needs none of its own.
		v := &controller.Version{
			Target: syncer.Target{
				Plugin: c.Name, Settings: g.loaded.Settings, Manifest: manifest, Index: int32(i),
				State:  g.loaded.Manifest.StateVersion,
				Module: g.loaded.Module, Plan: c.plans[i], Writer: s.Current().Writer,
			},
			Digest: g.loaded.Digest, Secrets: source.Veiled(i),
		}
		g.versions[manifest.Name] = v
		if g.readings[manifest.Name], err = h.m.stores.beginReading(nil, v); err != nil {
			return err
		}
	}

	return nil
}

// removeShadow takes a plugin's shadow away, which is closed when its last sync has ended: that lasts as long as the
// live one that it looks on at.
func (h *hosted) removeShadow() {
	h.shadowing = ""
	h.mu.Lock()
	g := h.shadow
	h.shadow = nil
	h.mu.Unlock()
	if g == nil {
		return
	}
	for name := range g.versions {
		if s := h.slots.named(name); s != nil {
			s.SetShadow(nil)
		}
	}
	h.drainLater(g)
}
