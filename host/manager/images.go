package manager

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/oci"
)

// images are the plugins that come from registries, as they are at one moment. What runs of one whose image can't be
// had, or is refused, runs on; where nothing of it runs, nothing else does in its place.
type images struct {
	modules []*plugins.Plugin
	errs    []error
	missing map[string]*plugins.Plugin // what runs of those that aren't there, nil for nothing
}

// newSource makes the source of images.
func (m *manager) newSource(ctx context.Context) *oci.Source {
	return oci.NewSource(ctx, func(ctx context.Context, p *plugins.Plugin) (string, error) {
		f, err := m.finder.Read(ctx, p)
		if err != nil {
			return "", err
		}
		return f.Name, nil
	})
}

// newShadows makes the source of the images of shadows, which needn't have the names of what they shadow.
func (m *manager) newShadows(ctx context.Context) *oci.Source {
	return oci.NewSource(ctx, func(ctx context.Context, p *plugins.Plugin) (string, error) {
		_, err := m.finder.Read(ctx, p)
		return p.Name, err
	})
}

// shadowsOf is the configuration with the images of shadows in place of those of plugins.
func shadowsOf(k *config.Configuration) *config.Configuration {
	other := *k
	other.Plugins = slices.Clone(k.Plugins)
	for i := range other.Plugins {
		other.Plugins[i].Image = k.Plugins[i].ShadowImage()
	}
	return &other
}

// missing reports why images aren't there, by plugin.
func (m *manager) missing() map[string]error {
	all := map[string]error{}
	for _, i := range m.source.Images() {
		if i.Plugin == nil {
			all[i.Name] = i.Err
		}
	}
	return all
}

// findImages reports which of the configured images are there.
func (m *manager) findImages(k *config.Configuration) (*images, error) {
	if err := m.source.Configure(k); err != nil {
		return nil, err
	}
	if err := m.shadows.Configure(shadowsOf(k)); err != nil {
		return nil, err
	}
	all := &images{missing: map[string]*plugins.Plugin{}}
	for _, i := range m.source.Images() {
		p := i.Plugin
		if p == nil {
			p = m.running(i.Name)
			all.missing[i.Name] = p
		}
		if p != nil {
			all.modules = append(all.modules, p)
		}
		switch {
		case i.Err != nil:
			all.errs = append(all.errs, fmt.Errorf("plugin %q: %w", i.Name, i.Err))
		case i.Plugin == nil:
			m.sayOnce("waits for "+i.Name, func() { klog.InfoS("Plugin waits for its image", "plugin", i.Name) })
		}
	}
	return all, nil
}

// Modules returns the images that are there, and of the others the modules that run.
func (i *images) Modules() ([]*plugins.Plugin, []error) { return i.modules, i.errs }

// dropMissing takes away what else has the name of a plugin whose image isn't there, such as a built-in one.
func (i *images) dropMissing(found []plugins.Found) []plugins.Found {
	return slices.DeleteFunc(found, func(f plugins.Found) bool {
		runs, missing := i.missing[f.Name]
		return missing && (runs == nil || f.Digest != runs.Digest)
	})
}

// hasUnknown reports whether some plugin may still come of which nothing is known.
func (i *images) hasUnknown() bool {
	for _, runs := range i.missing {
		if runs == nil {
			return true
		}
	}
	return false
}

// checkConfigured is plugins.CheckConfigured for when some plugins may still come.
func (i *images) checkConfigured(k *config.Configuration, found []plugins.Found) error {
	found = slices.Clone(found)
	for name := range i.missing {
		found = append(found, plugins.Found{Plugin: &plugins.Plugin{Name: name}, Manifest: &abi.Manifest{}})
	}
	return plugins.CheckConfigured(k, found)
}

// running returns the module that a plugin runs, nil for none.
func (m *manager) running(name string) *plugins.Plugin {
	h := m.hostedNamed(name)
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.present == nil {
		return nil
	}
	return h.present.loaded.Plugin
}

// controllerList returns the list of controllers with canonical names, where there is a plugin to have names.
func controllerList(k *config.Configuration, chosen []*choice) []string {
	if len(chosen) == 0 {
		return k.Controllers
	}
	return chosen[0].list
}
