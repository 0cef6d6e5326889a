package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/views"
)

// choosePlugins finds the plugins and returns those with enabled controllers.
func (m *manager) choosePlugins(ctx context.Context, k *config.Configuration) ([]*choice, error) {
	images, err := m.findImages(k)
	if err != nil {
		return nil, err
	}

	found, problems := m.finder.Find(ctx, append(slices.Clip(m.sources(k)), images)...)
	found = images.dropMissing(found)
	leftOut := []string{}
	leave := func(why error) {
		leftOut = append(leftOut, why.Error())
		m.sayOnce(why.Error(), func() { klog.ErrorS(why, "A plugin was left out") })
	}
	for _, p := range problems {
		leave(p)
	}

	gone := m.removedPlugins(k, found)
	known := append(slices.Clip(found), gone...) // who removes a file makes no mistake in the configuration
	if err := images.checkConfigured(k, known); err != nil {
		return nil, because(err, problems...)
	}

	names, aliases := plugins.Controllers(known)
	switch err := config.CheckNames(k.Controllers, names, aliases); {
	case err != nil && images.hasUnknown():
		m.sayOnce(err.Error(), func() {
			klog.InfoS("A name may be that of a plugin whose image isn't there yet", "problem", err.Error())
		})
	case err != nil:
		return nil, because(err, problems...)
	}
	if !images.hasUnknown() {
		m.tellMissing(k.Controllers, names)
	}

	if err := m.leaders.setAliases(names, aliases, images.hasUnknown()); err != nil {
		return nil, because(err, problems...)
	}
	list := config.Canonical(k.Controllers, aliases)
	var all []*choice
	for _, f := range found {
		x := &choice{Found: f, list: list}
		x.enableControllers(func(c *abi.Controller) {
			m.sayOnce(c.Name+" is disabled", func() { klog.InfoS("Controller is disabled", "controller", c.Name) })
		})
		if len(x.controllers) == 0 {
			if f.Broken != nil {
				leave(f.Broken)
			}
			continue
		}
		if _, _, err := plugins.Settings(f.Manifest, k.Plugin(f.Name).Settings); err != nil {
			return nil, because(err, f.Broken)
		}
		all = append(all, x)
	}

	if len(all) == 0 && !images.hasUnknown() {
		list := fmt.Sprint(k.Controllers)
		m.sayOnce(list+" enables none", func() { klog.InfoS("No controller is enabled: nothing runs", "controllers", list) })
	}

	m.mu.Lock()
	m.leftOut, m.known = leftOut, catalogue(found, k.Controllers, aliases)
	m.mu.Unlock()
	return all, nil
}

// removedPlugins returns the plugins that run from files which have been removed from the plugin folder.
func (m *manager) removedPlugins(k *config.Configuration, found []plugins.Found) (all []plugins.Found) {
	for _, h := range m.allHosted() {
		f := h.present.Found
		if k.PluginFolder == "" || f.Origin == plugins.OriginBuiltin ||
			filepath.Dir(f.Origin) != filepath.Clean(k.PluginFolder) ||
			slices.ContainsFunc(found, func(x plugins.Found) bool { return x.Name == f.Name }) {
			continue
		}
		if _, err := os.Lstat(f.Origin); errors.Is(err, fs.ErrNotExist) {
			all = append(all, f)
		}
	}
	return all
}

// because adds to an error that something wasn't found which files can't be used, for one of them may have it.
func because(err error, broken ...error) error {
	if broken := errors.Join(broken...); broken != nil {
		return fmt.Errorf("%w; what isn't there may be in a plugin that can't be used: %w", err, broken)
	}
	return err
}

// tellMissing tells of kube-controller-manager's controllers that the list turns on and that aren't here.
func (m *manager) tellMissing(list, names []string) {
	named, others := config.Missing(list, names)
	for _, name := range named {
		m.sayOnce(name+" is missing", func() {
			klog.InfoS("Nobody runs this controller: kube-controller-manager has it, and it isn't built here yet", "controller",
				name)
		})
	}
	if len(others) > 0 {
		m.sayOnce(fmt.Sprint(others, " are missing"), func() {
			klog.InfoS("\"*\" stands for more in kube-controller-manager: nobody runs these controllers, which aren't built here yet", "controllers", strings.Join(others, ","))
		})
	}
}

// sayOnce says something once, for what is looked at again and again.
func (m *manager) sayOnce(what string, how func()) {
	if !m.said[what] {
		m.said[what] = true
		how()
	}
}

// choice is a plugin with the indexes of its enabled controllers.
type choice struct {
	plugins.Found
	controllers []int
	list        []string            // the configuration's, with canonical names
	plans       map[int]*views.Plan // nil until they are compiled
	labels      map[int]*views.Labels

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
