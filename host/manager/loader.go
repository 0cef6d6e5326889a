package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/leader"
	"github.com/windlass-dev/windlass/host/metrics"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/rbac"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/signing/keyring"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// loader makes what can run of what was chosen: it loads a module, which is verified and compiled, configures it, and
// gives each of its controllers what a version needs. It keeps nothing of what it has made.
type loader struct {
	rest       *rest.Config
	wrap       func(*rest.Config)
	identities *identities
	metrics    *metrics.Metrics
	recordings *recordings
	leaders    *leaders
	stores     *stores
	gate       *sandbox.Gate
	trimmer    *process.Trimmer
	keyring    *keyring.Keyring
}

// identify reports what a plugin's generation is made from: when that changes, another one is needed.
func (l *loader) identify(k *config.Configuration, c *choice) error {
	settings, missing, err := plugins.Settings(c.Manifest, l.settings(k, c))
	if err != nil {
		return err
	}
	p := k.Plugin(c.Name)
	rights, err := json.Marshal([]any{p.Grant, p.Impersonate, p.ServiceAccount, k.UseServiceAccountCredentials})
	if err != nil {
		return err
	}
	// What changes without another generation.
	p.Workers, p.Controllers, p.Shadow, p.API, p.Budget = 0, nil, "", config.API{}, config.Budget{}
	p.File, p.Image, p.VerificationKeys = "", "", nil // the digest tells it
	p.Settings, p.Grant, p.Impersonate, p.ServiceAccount = nil, nil, config.Impersonate{}, ""
	rest, err := json.Marshal(p)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v %v %q %s %v %v", c.Digest, c.controllers, missing, settings.Values, rest,
		k.Sandbox.Interpreter, k.Sandbox.Rest))
	c.core, c.rights = hex.EncodeToString(sum[:]), string(rights)
	return nil
}

// rechoose returns the choice of the same module by another configuration, without controllers that another plugin has
// by it: no controller runs twice.
func (l *loader) rechoose(now *applied, c *choice, running *roster) (*choice, error) {
	x := &choice{Found: c.Found, list: now.list}
	x.enableControllers(func(*abi.Controller) {})
	x.withoutOthers(now.plugins, running)
	if len(x.controllers) == 0 {
		return nil, fmt.Errorf("none of the controllers of %s is enabled", c.Plugin)
	}
	return x, l.identify(now.config, x)
}

// open begins a generation: it compiles the views and the module, and configures the module.
func (l *loader) open(ctx context.Context, k *config.Configuration, c *choice, bounds *limits) (_ *generation,
	err error) {
	if c.plans == nil {
		if err := c.compile(); err != nil {
			return nil, err
		}
	}
	if c.core == "" {
		if err := l.identify(k, c); err != nil {
			return nil, err
		}
	}

	private, err := l.startup(k, c)
	if err != nil {
		return nil, err
	}
	o := plugins.Options(k, c.Name)
	o.Gate, o.Logs, o.Memory, o.Log, o.Late = l.gate, bounds.logs, bounds.memory, guestLogger(c, private), true
	o.Moved = func(loaded bool, took time.Duration) {
		if loaded {
			klog.V(1).InfoS("Loaded plugin for a key", "plugin", c.Name, "took", took)
			return
		}
		klog.V(1).InfoS("Plugin rests: its memory is let go of until its next key", "plugin", c.Name, "after", o.Rest)
		l.trimmer.Ask()
	}

	g := &generation{choice: c, settings: k.Plugin(c.Name), accounts: k.UseServiceAccountCredentials,
		versions: map[string]*controller.Version{},
		readings: map[string]*reading{}}
	g.loaded, err = plugins.Open(ctx, c.Plugin, o, l.settings(k, c))
	return g, record.NewVeil(private).Error(err)
}

// version is what a controller's syncs run on in this generation.
func (l *loader) version(k *config.Configuration, p *plugins.Loaded, index int, c *choice, own []*metrics.PluginMetric,
	h *hosted, after *effects.Writer) (*controller.Version, error) {
	manifest := &p.Manifest.Controllers[index]
	settings := k.Plugin(p.Manifest.Name)
	plan := c.plans[index]
	if p.Origin != plugins.OriginBuiltin { // whose author has read them
		for _, w := range plan.Warnings {
			klog.InfoS("Costly view", "controller", manifest.Name, "warning", w)
		}
	}

	allowed, err := narrowPlan(k, p.Manifest.Name, plan)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", manifest.Name, err)
	}

	identity, err := l.identities.configFor(manifest, &settings, p.Plugin, k.UseServiceAccountCredentials)
	if err != nil {
		return nil, err
	}
	if l.wrap != nil {
		l.wrap(identity)
	}

	waits := l.metrics.OverBudget.WithLabelValues(p.Manifest.Name, "deletes")
	ring := l.recordings.ringFor(manifest.Name)
	ring.CountIn(h.limits.memory)
	source, err := l.recorded(k, p, c)
	if err != nil {
		return nil, err
	}

	var signer effects.Signer // a module that isn't built in has nothing signed
	if p.Origin == plugins.OriginBuiltin {
		signer = l.keyring
	}
	bounds := h.limits.requestsOf(settings, p.Plugin, manifest)
	writer, err := effects.New(effects.Options{
		Plugin: p.Manifest.Name, Controller: manifest, Config: identity, Reader: l.rest, FieldManager: fieldManager,
		After: after, Seen: plan.Seen, Signer: signer,
		Grant: allowed, Deletes: h.limits.deletes, Memory: h.limits.memory, Requests: bounds.effects, Events: bounds.events,
		Stores: func(r abi.Resource) effects.Store {
			if s := l.stores.cache.Store(r); s != nil {
				return s
			}
			return nil
		},
		Discovery: l.stores.discovery, Gone: l.stores.cache.Gone, Wrote: ring.Wrote, Lease: l.leaders.fenceFor(manifest),
		Client: l.leaders.clientFor(manifest), Outlast: leader.Outlast,
		Wake: func(from abi.KeyRef, controller int32, key abi.KeyRef) {
			if controller < 0 || int(controller) >= len(p.Manifest.Controllers) {
				return
			}
			if s := h.slots.named(p.Manifest.Controllers[controller].Name); s != nil {
				s.WakeAsked(key, int(controller) == index && key == from)
			}
		},
		Metrics: effects.Metrics{
			Write: func(verb, resource, subresource string, code int, _ time.Duration) {
				if subresource != "" {
					resource += "/" + subresource
				}
				l.metrics.Writes.WithLabelValues(manifest.Name, verb, resource, strconv.Itoa(code)).Inc()
			},
			Refused: l.metrics.Refusals.WithLabelValues(manifest.Name).Inc,
			OverBudget: func() {
				waits.Inc()
				h.limits.overBudget(h.name, manifest.Name)
			},
		},
	})
	if err != nil {
		return nil, err
	}

	return &controller.Version{
		Target: syncer.Target{
			Plugin: p.Manifest.Name, Settings: p.Settings, Manifest: manifest, Index: int32(index),
			State:  p.Manifest.StateVersion,
			Module: p.Module, Plan: plan, Writer: writer, Labels: c.labels[index],
		},
		Digest: p.Digest, Metrics: l.metrics.Of(manifest.Name, own), Recorder: ring.Recorder(source),
		BuiltIn: p.Origin == plugins.OriginBuiltin,
		Logs:    h.limits.logs,
		Secrets: source.Veiled(index),
	}, nil
}

// settings are a plugin's configured settings; the host knows a default for the root CA: the kubeconfig's, as upstream.
func (l *loader) settings(k *config.Configuration, c *choice) map[string]string {
	values := map[string]string{}
	for name, v := range k.Plugin(c.Name).Settings {
		values[name] = v
	}
	for _, s := range c.Manifest.Settings {
		if _, set := values[s.Name]; set || s.Name != "root-ca-file" || !s.File {
			continue
		}
		switch {
		case len(l.rest.CAData) > 0:
			values[s.Name] = string(l.rest.CAData)
		case l.rest.CAFile != "":
			values[s.Name] = l.rest.CAFile
		}
	}
	return values
}

// startup veils what a plugin says outside of syncs: it gets the content of files then, which may be keys.
func (l *loader) startup(k *config.Configuration, c *choice) (*record.Source, error) {
	values, _, err := plugins.Settings(c.Manifest, l.settings(k, c))
	if err != nil {
		return nil, err
	}
	s := &record.Source{Manifest: c.Manifest}
	s.SetSettings(values.Values)
	return s, nil
}

// recorded is what the syncs of a plugin's version run on, as its recordings tell.
func (l *loader) recorded(k *config.Configuration, p *plugins.Loaded, c *choice) (*record.Source, error) {
	values, _, err := plugins.Settings(p.Manifest, l.settings(k, c))
	if err != nil {
		return nil, err
	}
	o := plugins.Options(k, c.Name)
	s := &record.Source{
		Trusted: p.Origin == plugins.OriginBuiltin,
		Plugin:  p.Manifest.Name, Version: p.Manifest.Version, Digest: p.Digest, Origin: p.String(),
		SettingsDigest: p.Settings, Manifest: p.Manifest,
		Memory: o.MemoryLimit, Fuel: o.Budget,
	}
	s.SetSettings(values.Values)
	return s, nil
}

// narrowPlan leaves of a plan's reads what the operator grants the plugin.
func narrowPlan(k *config.Configuration, plugin string, plan *views.Plan) (*grant.Grant, error) {
	allowed, err := rbac.Granted(k.Plugin(plugin).Grant)
	if err != nil {
		return nil, err
	}
	return allowed, plan.Narrow(allowed)
}
