package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/rbac"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// hosted is a plugin that runs here, with a slot for each of its enabled controllers.
type hosted struct {
	name   string
	limits *limits

	mu      sync.Mutex
	present *generation
	before  *generation // stays loaded while the present one's module is on trial
	trial   *trial      // nil: there is none
	shadow  *generation // gets the same calls, and writes nothing
	slots   map[string]*slot
	failed  tried    // by core or print
	asked   []string // of what may have failed: what the plugin's file and the configuration ask for now
	shaded  string   // the same of its shadow
	broken  error    // why what the plugin's file holds now can't be used: what runs goes on
	loaded  time.Time
}

func newHosted(k *config.Configuration, name string) *hosted {
	return &hosted{name: name, limits: newLimits(k.Plugin(name)), slots: map[string]*slot{}}
}

// generation is one module with its settings and rights, and the version that it gives each controller.
type generation struct {
	*choice
	loaded   *plugins.Loaded
	settings config.Plugin // as it was configured
	shadow   bool          // its writers are those of the live one
	versions map[string]*controller.Version
	readings map[string]*reading
}

// allSlots returns the slots, in the order of the controllers' names.
func (h *hosted) allSlots() []*slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return sortedValues(h.slots)
}

func (h *hosted) slotNamed(name string) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slots[name]
}

func sortedValues[V any](m map[string]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}

// loadChosen loads the chosen plugins before the manager runs. One that isn't built in and can't be loaded is left out.
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
			o.hosted = newHosted(k, c.Name)
			o.generation, o.err = m.openGeneration(ctx, k, c, o.hosted)
		})
	}

	opening.Wait()
	for i, c := range chosen {
		h, g, err := all[i].hosted, all[i].generation, all[i].err
		if err == nil {
			err = m.makeVersions(k, g, h)
		}
		switch {
		case err != nil && c.Origin != plugins.OriginBuiltin && ctx.Err() == nil:
			klog.ErrorS(err, "A plugin was left out")
			m.mu.Lock()
			m.leftOut = append(m.leftOut, err.Error())
			m.mu.Unlock()
			continue
		case err != nil:
			for _, o := range all[i+1:] {
				if o.err == nil {
					err = errors.Join(err, o.generation.close())
				}
			}
			return err
		}
		h.install(g)
		m.mu.Lock()
		m.hosted[c.Name] = h
		m.mu.Unlock()
		m.tellBroken(h, c.Broken)
	}
	return nil
}

// tellBroken takes note of why a plugin's file can't be used, nil: it can. It is told when that changes.
func (m *manager) tellBroken(h *hosted, why error) {
	h.mu.Lock()
	was := h.broken
	h.broken = why
	h.mu.Unlock()
	switch {
	case why != nil && (was == nil || was.Error() != why.Error()):
		klog.ErrorS(why, "A plugin's file can't be used: what ran before goes on", "plugin", h.name, "digest",
			shortDigest(h.present.Digest))
		m.history.addFailure(h.name, h.present.choice, why, was != nil)
		if was == nil {
			m.metrics.Swaps.WithLabelValues(h.name, "failed").Inc()
		}
	case why == nil && was != nil:
		klog.InfoS("A plugin's file can be used again", "plugin", h.name)
	}
}

// install makes a generation the present one of a plugin's slots before they run.
func (h *hosted) install(g *generation) {
	h.present, h.loaded = g, time.Now()
	for name, s := range h.slots {
		s.setReading(g.readings[name], g.loaded.Missing)
	}
}

// identify reports what a plugin's generation is made from: when that changes, another one is needed.
func (m *manager) identify(k *config.Configuration, c *choice) error {
	settings, missing, err := plugins.Settings(c.Manifest, m.settings(k, c))
	if err != nil {
		return err
	}
	p := k.Plugin(c.Name)
	rights, err := json.Marshal([]any{p.Grant, p.Impersonate, p.ServiceAccount})
	if err != nil {
		return err
	}
	// What changes without another generation.
	p.Workers, p.Shadow, p.API, p.Budget = 0, "", config.API{}, config.Budget{}
	p.Image, p.VerificationKeys = "", nil // the digest tells it
	p.Settings, p.Grant, p.Impersonate, p.ServiceAccount = nil, nil, config.Impersonate{}, ""
	rest, err := json.Marshal(p)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v %v %q %s %v", c.Digest, c.controllers, missing, settings.Values, rest,
		k.Sandbox.Interpreter))
	c.core, c.rights = hex.EncodeToString(sum[:]), string(rights)
	return nil
}

// openGeneration begins a generation: it compiles the views and the module, and configures the module.
func (m *manager) openGeneration(ctx context.Context, k *config.Configuration, c *choice, h *hosted) (_ *generation,
	err error) {
	if c.plans == nil {
		if err := c.compile(); err != nil {
			return nil, err
		}
	}
	if c.core == "" {
		if err := m.identify(k, c); err != nil {
			return nil, err
		}
	}

	private, err := m.startup(k, c)
	if err != nil {
		return nil, err
	}
	o := plugins.Options(k, c.Name)
	o.Gate, o.Logs, o.Log, o.Late = m.gate, h.limits.logs, guestLogger(c, private), true
	o.Moved = func(loaded bool, took time.Duration) {
		if loaded {
			klog.V(1).InfoS("Loaded plugin for a key", "plugin", c.Name, "took", took)
			return
		}
		klog.V(1).InfoS("Plugin rests: its memory is let go of until its next key", "plugin", c.Name, "after", o.Rest)
	}

	g := &generation{choice: c, settings: k.Plugin(c.Name), versions: map[string]*controller.Version{},
		readings: map[string]*reading{}}
	g.loaded, err = plugins.Open(ctx, c.Plugin, o, m.settings(k, c))
	return g, record.NewVeil(private).Error(err)
}

// loadGeneration makes a generation, and begins what its versions read. Controllers that the plugin hasn't had get a
// slot, which doesn't run yet.
func (m *manager) loadGeneration(ctx context.Context, k *config.Configuration, c *choice, h *hosted) (*generation,
	error) {
	g, err := m.openGeneration(ctx, k, c, h)
	if err != nil {
		return nil, err
	}
	return g, m.makeVersions(k, g, h)
}

// makeVersions makes a generation's versions. After an error the generation is closed.
func (m *manager) makeVersions(k *config.Configuration, g *generation, h *hosted) (err error) {
	made := map[string]*slot{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("plugin %s: %w", g.Name, err), g.close())
		}
	}()

	own, err := m.metrics.Plugin(g.Name, g.loaded.Manifest.Metrics)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}

	for _, i := range g.controllers {
		manifest := &g.loaded.Manifest.Controllers[i]
		s := h.slotNamed(manifest.Name)
		var after *effects.Writer
		if s != nil {
			after = s.Current().Writer
		}
		v, err := m.version(k, g.loaded, i, g.choice, own, h, after)
		if err != nil {
			return err
		}
		g.versions[manifest.Name] = v
		if s == nil {
			s = m.newSlot(k, v)
			made[manifest.Name] = s
		}
		if g.readings[manifest.Name], err = m.beginReadingAs(s, v); err != nil {
			return err
		}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	maps.Copy(h.slots, made)
	return nil
}

// newSlot makes the slot of a controller that hasn't had one; it doesn't run yet.
func (m *manager) newSlot(k *config.Configuration, v *controller.Version) *slot {
	o := controller.Options{World: m.stores, Concurrent: workers(k, v.Manifest, v.Plugin), Resync: k.MinResyncPeriod.Duration,
		Tracer: m.tracer}
	return &slot{Controller: controller.New(o, v), plugin: v.Plugin, changed: make(chan struct{})}
}

func workers(k *config.Configuration, c *abi.Controller, plugin string) int {
	if n := k.Plugin(plugin).Workers; n > 0 {
		return int(n)
	}
	return int(c.Workers)
}

// version is what a controller's syncs run on in this generation.
func (m *manager) version(k *config.Configuration, l *plugins.Loaded, index int, c *choice, own []*metrics.PluginMetric,
	h *hosted, after *effects.Writer) (*controller.Version, error) {
	manifest := &l.Manifest.Controllers[index]
	settings := k.Plugin(l.Manifest.Name)
	plan := c.plans[index]
	for _, w := range plan.Warnings {
		klog.InfoS("Costly view", "controller", manifest.Name, "warning", w)
	}

	allowed, err := narrowPlan(k, l.Manifest.Name, plan)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", manifest.Name, err)
	}

	identity, err := m.identities.configFor(manifest, &settings, l.Plugin)
	if err != nil {
		return nil, err
	}
	if m.options.Wrap != nil {
		m.options.Wrap(identity)
	}

	waits := m.metrics.OverBudget.WithLabelValues(l.Manifest.Name, "deletes")
	ring := m.recordings.ringFor(manifest.Name)
	source, err := m.recorded(k, l, c)
	if err != nil {
		return nil, err
	}

	bounds := h.limits.requestsOf(settings, l.Plugin, manifest)
	writer, err := effects.New(effects.Options{
		Plugin: l.Manifest.Name, Controller: manifest, Config: identity, Reader: m.rest, FieldManager: fieldManager,
		After: after, Seen: plan.Seen,
		Grant: allowed, Deletes: h.limits.deletes, Requests: bounds.effects, Events: bounds.events,
		Stores: func(r abi.Resource) effects.Store {
			if s := m.stores.cache.Store(r); s != nil {
				return s
			}
			return nil
		},
		Discovery: m.stores.discovery, Gone: m.stores.cache.Gone, Wrote: ring.Wrote, Lease: m.leaders.fenceFor(manifest),
		Client: m.leaders.clientFor(manifest),
		Wake: func(controller int32, key abi.KeyRef) {
			if controller < 0 || int(controller) >= len(l.Manifest.Controllers) {
				return
			}
			if s := h.slotNamed(l.Manifest.Controllers[controller].Name); s != nil {
				s.Wake(key)
			}
		},
		Metrics: effects.Metrics{
			Write: func(verb, resource, subresource string, code int, _ time.Duration) {
				if subresource != "" {
					resource += "/" + subresource
				}
				m.metrics.Writes.WithLabelValues(manifest.Name, verb, resource, strconv.Itoa(code)).Inc()
			},
			Refused: m.metrics.Refusals.WithLabelValues(manifest.Name).Inc,
			OverBudget: func() {
				waits.Inc()
				h.overBudget(manifest.Name)
			},
		},
	})
	if err != nil {
		return nil, err
	}

	return &controller.Version{
		Target: syncer.Target{
			Plugin: l.Manifest.Name, Settings: l.Settings, Manifest: manifest, Index: int32(index),
			State:  l.Manifest.StateVersion,
			Module: l.Module, Plan: plan, Writer: writer, Labels: c.labels[index],
		},
		Digest: l.Digest, Metrics: m.metrics.Of(manifest.Name, own), Recorder: ring.Recorder(source),
		Secrets: source.Veiled(index),
	}, nil
}

// narrowPlan leaves of a plan's reads what the operator grants the plugin.
func narrowPlan(k *config.Configuration, plugin string, plan *views.Plan) (*grant.Grant, error) {
	allowed, err := rbac.Granted(k.Plugin(plugin).Grant)
	if err != nil {
		return nil, err
	}
	return allowed, plan.Narrow(allowed)
}

// settings are a plugin's configured settings; the host knows a default for the root CA: the kubeconfig's, as upstream.
func (m *manager) settings(k *config.Configuration, c *choice) map[string]string {
	values := map[string]string{}
	for name, v := range k.Plugin(c.Name).Settings {
		values[name] = v
	}
	for _, s := range c.Manifest.Settings {
		if _, set := values[s.Name]; set || s.Name != "root-ca-file" || !s.File {
			continue
		}
		switch {
		case len(m.rest.CAData) > 0:
			values[s.Name] = string(m.rest.CAData)
		case m.rest.CAFile != "":
			values[s.Name] = m.rest.CAFile
		}
	}
	return values
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
	for _, g := range []*generation{h.before, h.present} {
		if g != nil {
			errs = append(errs, g.close())
		}
	}
	h.before, h.present = nil, nil
	return errors.Join(errs...)
}

func shortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}
