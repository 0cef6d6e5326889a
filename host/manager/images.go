package manager

import (
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
)

// images are the plugins that come from registries, as they are at one moment. What runs of one whose image can't be
// had, or is refused, runs on; where nothing of it runs, nothing else does in its place.
type images struct {
	modules []*plugins.Plugin
	errs    []error
	missing map[string]*plugins.Plugin // what runs of those that aren't there, nil for nothing
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
func (i *images) checkConfigured(k *config.Configuration, found []plugins.Found) []error {
	found = slices.Clone(found)
	for name := range i.missing {
		found = append(found, plugins.Found{Plugin: &plugins.Plugin{Name: name}, Manifest: &abi.Manifest{}})
	}
	return plugins.CheckConfigured(k, found)
}
