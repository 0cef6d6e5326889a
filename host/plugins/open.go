package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// Helpers are the pure functions that plugins may import beside the ABI's own.
var Helpers = module.Helpers

// Loaded is a plugin that is compiled and has its settings.
type Loaded struct {
	*Plugin
	Module   *sandbox.Module
	Manifest *abi.Manifest
	// Settings is a digest of the settings.
	Settings string
	// Missing names the required settings that are empty; while there are any, the plugin's controllers should be idle and
	// say so.
	Missing []string
	// Metrics are the manifest's, with the values of labels that are settings'.
	Metrics []abi.Metric
}

// Close waits for the calls in flight and frees the module.
func (l *Loaded) Close(ctx context.Context) error { return l.Module.Close(ctx) }

// Options returns the bounds that the configuration sets for the plugin of that name.
func Options(c *config.Configuration, name string) sandbox.Options {
	l := c.Plugin(name).Limits
	return sandbox.Options{MemoryLimit: l.Memory.Value(), Deadline: l.Deadline.Duration, Budget: l.Fuel,
		Interpreter: c.Sandbox.Interpreter, Rest: c.Sandbox.Rest.Duration}
}

// Open compiles a plugin and configures it with its settings. Of o, the name, the helpers and the log are filled in
// where they are empty, and what is about messages always. Options.Late holds for what the build has tried: a built-in
// module with its default settings.
func Open(ctx context.Context, p *Plugin, o sandbox.Options, values map[string]string) (_ *Loaded, err error) {
	if o.Name == "" {
		o.Name = p.Name
	}
	if o.Helpers == nil {
		o.Helpers = Helpers
	}
	if o.Log == nil {
		o.Log = pluginLogger(p)
	}

	o.TooLarge = tooLarge
	o.Untrusted, o.Code = p.Origin != OriginBuiltin, p.Code
	l := &Loaded{Plugin: p}
	if o.Late = o.Late && !o.Untrusted && o.Code != nil && len(values) == 0; o.Late {
		if l.Manifest, err = p.declares(); err != nil {
			return nil, err
		}
		if o.Late = l.Manifest != nil; o.Late {
			if o.Settings, err = l.message(nil); err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
		}
	}

	wasm, err := p.Wasm()
	if err == nil {
		l.Module, err = sandbox.Load(ctx, wasm, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	defer func() {
		if err != nil {
			_ = l.Module.Close(context.WithoutCancel(ctx))
		}
	}()

	klog.V(1).InfoS("Loaded plugin", "plugin", p.Name, "origin", p.Origin, "late", o.Late, "precompiled",
		l.Module.Precompiled())
	if !o.Late {
		if l.Manifest, err = readManifest(ctx, p, l.Module); err != nil {
			return nil, err
		}
	}

	limit := o.MemoryLimit
	if limit == 0 {
		limit = sandbox.DefaultMemoryLimit
	}

	if l.Manifest.Memory > limit {
		return nil, fmt.Errorf("%s: plugin %q needs %d bytes of memory, but its limit is %d: raise sandbox.memory, or "+
			"limits.memory of the plugin", p, p.Name, l.Manifest.Memory, limit)
	}
	if !o.Late {
		if err := l.Configure(ctx, values); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return l, nil
}

// tooLarge names the largest effect of an answer.
func tooLarge(answer []byte) string {
	effects, place, size, about := abi.Largest(answer)
	if size == 0 {
		return ""
	}
	return fmt.Sprintf("; of its %d effects effects[%d], of %q, object %q in namespace %q, is the largest with %d bytes",
		effects, place, about.Resource, about.Name, about.Namespace, size)
}

// manifestOptions are those under which a module runs for its manifest alone, before it is known whose limits it has:
// with no more memory than by default, unless it declares more.
func manifestOptions(p *Plugin, wasm []byte) sandbox.Options {
	o := sandbox.Options{Name: p.String(), Interpreter: true, MemoryLimit: sandbox.DefaultMemoryLimit, Helpers: Helpers,
		Log: pluginLogger(p), Untrusted: p.Origin != OriginBuiltin}
	if m, err := rewrite.Parse(wasm); err == nil {
		o.MemoryLimit = min(max(o.MemoryLimit, int64(m.MemoryMin)<<16), sandbox.MaxMemoryLimit)
	}
	return o
}

// Configure returns the plugin new settings; syncs that begin from now on see them. After an error it has those it had.
// It isn't safe to call concurrently.
func (l *Loaded) Configure(ctx context.Context, values map[string]string) error {
	m, err := l.message(values)
	if err != nil {
		return err
	}
	return l.Module.Configure(ctx, m)
}

// message returns the message that gives the plugin its settings, and takes down what follows from them.
func (l *Loaded) message(values map[string]string) (b []byte, err error) {
	settings, missing, err := Settings(l.Manifest, values)
	if err != nil {
		return nil, err
	}
	metrics, err := l.Manifest.MetricsOf(settings)
	if err != nil {
		return nil, err
	}
	b = abi.AppendSettings(nil, settings)
	sum := sha256.Sum256(b)
	l.Settings, l.Missing, l.Metrics = hex.EncodeToString(sum[:8]), missing, metrics
	return b, nil
}

// pluginLogger returns what logs what a plugin says outside syncs.
func pluginLogger(p *Plugin) func(int32, string) {
	return func(_ int32, message string) { klog.InfoS("Plugin says", "plugin", p.String(), "message", message) }
}
