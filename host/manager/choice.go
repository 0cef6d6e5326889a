package manager

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/views"
)

// choice is a plugin with the indexes of its enabled controllers.
type choice struct {
	plugins.Found
	controllers []int
	list        []string            // the configuration's, with canonical names
	plans       map[int]*views.Plan // nil until they are compiled
	labels      map[int]*views.Labels
	unfit       error // why the plugin can't be configured as it is to be

	// What identify tells: core of the module, its settings and limits, rights of what it may and as whom.
	core, rights string
}

// fingerprint returns a fingerprint of what a generation is made from.
func (c *choice) fingerprint() string { return c.core + c.rights }

// enableControllers chooses the enabled controllers; disabled is told of each other one.
func (c *choice) enableControllers(disabled func(*abi.Controller)) {
	c.controllers = nil
	for i := range c.Manifest.Controllers {
		x := &c.Manifest.Controllers[i]
		name := x.Name
		if x.PartOf != "" {
			name = x.PartOf
		}
		if config.Enabled(name, c.list, x.DisabledByDefault) {
			c.controllers = append(c.controllers, i)
		} else {
			disabled(x)
		}
	}
}

// compile compiles the views of the enabled controllers, and the metrics' labels over them; its error says what is
// wrong with the manifest.
func (c *choice) compile() error {
	c.plans, c.labels = map[int]*views.Plan{}, map[int]*views.Labels{}
	for _, i := range c.controllers {
		plan, err := views.Compile(&c.Manifest.Controllers[i])
		if err != nil {
			return fmt.Errorf("%s: plugin %q: %w", c.Plugin, c.Name, err)
		}
		c.plans[i] = plan
		if c.labels[i], err = plan.Labels(c.Manifest.Metrics); err != nil {
			return fmt.Errorf("%s: plugin %q: %w", c.Plugin, c.Name, err)
		}
	}
	return nil
}

// pluginsOf returns the choices that controllers are of, by the controllers' names.
func pluginsOf(chosen []*choice) map[string]*choice {
	all := map[string]*choice{}
	for _, c := range chosen {
		for _, i := range c.controllers {
			all[c.Manifest.Controllers[i].Name] = c
		}
	}
	return all
}

// withoutOthers leaves out the controllers that another plugin has, or is to have soon.
func (c *choice) withoutOthers(plugins map[string]*choice, running *roster) {
	c.controllers = slices.DeleteFunc(c.controllers, func(i int) bool {
		name := c.Manifest.Controllers[i].Name
		other := plugins[name]
		if other == nil || other.Name == c.Name {
			return false
		}
		h := running.named(other.Name)
		return h == nil || !h.runsWithout(name, other)
	})
}

// runsWithout reports whether a plugin goes on without a controller that a choice of it has: that has failed.
func (h *hosted) runsWithout(controller string, c *choice) bool {
	failed := h.tried.get(c.fingerprint()) != nil || h.tried.get(c.core) != nil
	return failed && h.next == nil && h.slots.named(controller) == nil
}

// controllerList returns the list of controllers with canonical names, where there is a plugin to have names.
func controllerList(k *config.Configuration, chosen []*choice) []string {
	if len(chosen) == 0 {
		return k.Controllers
	}
	return chosen[0].list
}
