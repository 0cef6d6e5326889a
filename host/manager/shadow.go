package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/syncer"
)

// applyShadow has the shadow that the configuration names shadow a plugin's controllers, or takes it away. The caller
// holds changing.
func (m *manager) applyShadow(ctx context.Context, k *config.Configuration, h *hosted) error {
	p := k.Plugin(h.name)
	name := p.Shadow
	if name == "" {
		h.noteShadow("")
		m.removeShadow(h)
		return nil
	}

	module, err := m.shadowModule(&p)
	if err != nil {
		return fmt.Errorf("plugins[%s].shadow: %w", h.name, err)
	}
	if module == nil {
		m.sayOnce("waits for the shadow of "+h.name, func() {
			klog.InfoS("The shadow's image is being got", "plugin", h.name,
				"image", name)
		})
		return nil // until then the one before goes on, if there is one
	}

	c, err := m.shadowChoice(ctx, h, module)
	if err != nil {
		return fmt.Errorf("plugins[%s].shadow: %w", h.name, err)
	}

	if err := m.loader.identify(k, c); err != nil {
		return err
	}
	print := c.fingerprint()
	h.noteShadow("shadow " + print)
	h.mu.Lock()
	present, tried := h.shadow, h.failed.get("shadow "+print)
	h.mu.Unlock()
	switch {
	case present != nil && present.fingerprint() == print:
		return nil
	case tried != nil:
		return fmt.Errorf("plugins[%s].shadow: %s was tried before: %w", h.name, name, tried)
	}

	m.removeShadow(h)
	g, err := m.loadShadow(ctx, k, c, h)
	if err != nil {
		h.mu.Lock()
		h.failed.add("shadow "+print, err)
		h.mu.Unlock()
		return fmt.Errorf("plugins[%s].shadow: %w", h.name, err)
	}

	h.mu.Lock()
	h.shadow = g
	h.mu.Unlock()
	for name, v := range g.versions {
		s := h.slotNamed(name)
		synced, differ := m.metrics.ShadowSyncs.WithLabelValues(name), m.metrics.ShadowDifferences.WithLabelValues(name)
		s.SetShadow(&controller.Shadow{Version: v, Compared: func(d *controller.Difference) {
			synced.Inc()
			if d == nil {
				return
			}
			differ.Inc()
			s.differences.Add(*d)
			klog.InfoS("Shadow answers otherwise", "controller", name, "key", d.Key, "shadow", shortDigest(d.Shadow),
				"difference", strings.TrimSpace(d.Text[:min(len(d.Text), 1000)]))
		}})
	}
	klog.InfoS("Plugin has a shadow", "plugin", h.name, "shadow", g.loaded.String(), "digest",
		shortDigest(g.loaded.Digest))
	m.wakeAll(h, h.present)
	return nil
}

// noteShadow takes note of the shadow that the configuration asks for.
func (h *hosted) noteShadow(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shaded = what
}

// shadowModule finds a plugin's shadow, nil for an image that hasn't come yet.
func (m *manager) shadowModule(p *config.Plugin) (*plugins.Plugin, error) {
	if p.ShadowImage() == "" {
		return plugins.Named(p.Shadow)
	}
	for _, i := range m.shadows.Images() {
		if i.Name == p.Name {
			return i.Plugin, i.Err
		}
	}
	return nil, nil // it was configured a moment ago
}

// shadowChoice reads the module's manifest, and finds those of its controllers that run here.
func (m *manager) shadowChoice(ctx context.Context, h *hosted, p *plugins.Plugin) (*choice, error) {
	f, err := m.finder.Read(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &choice{Found: f}
	c.Name = h.name // its settings and rights are the plugin's
	for i, x := range f.Manifest.Controllers {
		if h.slotNamed(x.Name) != nil {
			c.controllers = append(c.controllers, i)
		}
	}
	if len(c.controllers) == 0 {
		return nil, fmt.Errorf("%s has no controller that the plugin has", p)
	}
	return c, c.compile()
}

// loadShadow makes the generation of a shadow: it reads what it declares, and wakes nobody.
func (m *manager) loadShadow(ctx context.Context, k *config.Configuration, c *choice, h *hosted) (_ *generation,
	err error) {
	g, err := m.loader.open(ctx, k, c, h.limits.logs)
	if err != nil {
		return nil, err
	}

	g.shadow = true
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()

	source, err := m.loader.recorded(k, g.loaded, c)
	if err != nil {
		return nil, err
	}

	for _, i := range c.controllers {
		manifest := &g.loaded.Manifest.Controllers[i]
		if _, err := narrowPlan(k, c.Name, c.plans[i]); err != nil { // it sees no more than the plugin may
			return nil, fmt.Errorf("controller %s: %w", manifest.Name, err)
		}
		s := h.slotNamed(manifest.Name)
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
		if g.readings[manifest.Name], err = m.stores.beginReading(nil, v); err != nil {
			return nil, err
		}
	}

	filled, cancel := context.WithTimeout(ctx, fillMax)
	defer cancel()
	for name, r := range g.readings {
		if err := r.waitForCaches(filled, m.stores); err != nil {
			return nil, fmt.Errorf("controller %s: its caches can't be filled: %w", name, err)
		}
	}
	return g, nil
}

// removeShadow takes a plugin's shadow away.
func (m *manager) removeShadow(h *hosted) {
	h.mu.Lock()
	g := h.shadow
	h.shadow = nil
	h.mu.Unlock()
	if g == nil {
		return
	}
	for name := range g.versions {
		if s := h.slotNamed(name); s != nil {
			s.SetShadow(nil)
		}
	}
	for _, v := range g.versions {
		if err := v.Drain(m.held); err != nil {
			return
		}
	}
	for _, r := range g.readings {
		r.endReading()
	}
	if err := g.loaded.Close(context.Background()); err != nil {
		klog.ErrorS(err, "Can't free a shadow", "plugin", h.name)
	}
}
