package manager

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/views"
)

// choose finds the plugins and gives those with enabled controllers.
func (m *manager) choose(ctx context.Context, k *config.Configuration) ([]*choice, error) {
	images, err := m.look(k)
	if err != nil {
		return nil, err
	}
	found, problems := m.finder.Find(ctx, append(slices.Clip(m.sources(k)), images)...)
	found = images.only(found)
	leftOut := []string{}
	leave := func(why error) {
		leftOut = append(leftOut, why.Error())
		m.say(why.Error(), func() { klog.ErrorS(why, "A plugin was left out") })
	}
	for _, p := range problems {
		leave(p)
	}
	if err := images.checkConfigured(k, found); err != nil {
		return nil, err
	}
	names, aliases := plugins.Controllers(found)
	switch err := config.CheckNames(k.Controllers, names, aliases); {
	case err != nil && images.coming():
		m.say(err.Error(), func() {
			klog.InfoS("A name may be that of a plugin whose image isn't there yet", "problem", err.Error())
		})
	case err != nil:
		return nil, err
	}
	if !images.coming() {
		m.tellMissing(k.Controllers, names)
	}
	if err := m.leaders.know(names, aliases, images.coming()); err != nil {
		return nil, err
	}
	list := config.Canonical(k.Controllers, aliases)
	var all []*choice
	sound := map[string]bool{}
	for _, f := range found {
		x := &choice{Found: f, list: list}
		x.enable(func(c *abi.Controller) {
			m.say(c.Name+" is disabled", func() { klog.InfoS("Controller is disabled", "controller", c.Name) })
		})
		if len(x.controllers) == 0 {
			continue
		}
		if _, _, err := plugins.Settings(f.Manifest, k.Plugin(f.Name).Settings); err != nil {
			return nil, err
		}
		id := fmt.Sprint(f.Digest, x.controllers)
		if !m.sound[id] {
			if err := x.compile(); err != nil {
				if f.Origin == plugins.OriginBuiltin {
					return nil, err
				}
				leave(err)
				continue
			}
		}
		sound[id] = true
		all = append(all, x)
	}
	m.sound = sound // those that are gone aren't remembered
	if len(all) == 0 && !images.coming() {
		list := fmt.Sprint(k.Controllers)
		m.say(list+" enables none", func() { klog.InfoS("No controller is enabled: nothing runs", "controllers", list) })
	}
	m.mu.Lock()
	m.leftOut, m.known = leftOut, catalogue(found, k.Controllers, aliases)
	m.mu.Unlock()
	return all, nil
}

// tellMissing tells of kube-controller-manager's controllers that the list turns on and that aren't here.
func (m *manager) tellMissing(list, names []string) {
	named, others := config.Missing(list, names)
	for _, name := range named {
		m.say(name+" is missing", func() {
			klog.InfoS("Nobody runs this controller: kube-controller-manager has it, and it isn't built here yet", "controller", name)
		})
	}
	if len(others) > 0 {
		m.say(fmt.Sprint(others, " are missing"), func() {
			klog.InfoS("\"*\" stands for more in kube-controller-manager: nobody runs these controllers, which aren't built here yet", "controllers", strings.Join(others, ","))
		})
	}
}

// say says something once, for what is looked at again and again.
func (m *manager) say(what string, how func()) {
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

	// What identify tells: core of the module, its settings and limits, rights of what it may and as whom.
	core, rights string
}

// print tells what a generation is made from.
func (c *choice) print() string { return c.core + c.rights }

// enable chooses the enabled controllers; disabled is told of each other one.
func (c *choice) enable(disabled func(*abi.Controller)) {
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

// again is the choice of the same module by a configuration with another list of controllers.
func (m *manager) again(k *config.Configuration, c *choice, list []string) (*choice, error) {
	x := &choice{Found: c.Found, list: list}
	x.enable(func(*abi.Controller) {})
	if len(x.controllers) == 0 {
		return nil, fmt.Errorf("none of the controllers of %s is enabled", c.Plugin)
	}
	return x, m.identify(k, x)
}

// compile compiles the views of the enabled controllers; its error says what is wrong with the manifest.
func (c *choice) compile() error {
	c.plans = map[int]*views.Plan{}
	for _, i := range c.controllers {
		plan, err := views.Compile(&c.Manifest.Controllers[i])
		if err != nil {
			return fmt.Errorf("%s: plugin %q: %w", c.Plugin, c.Name, err)
		}
		c.plans[i] = plan
	}
	return nil
}

// wholeNeeded tells whether a controller updates objects of the resource, so that the cache must keep all of them.
func wholeNeeded(c *abi.Controller, r abi.Resource) bool {
	for _, w := range c.Writes {
		if w.Resource == r && slices.Contains(w.Verbs, "update") {
			return r.Group != "" || r.Name != "pods" && r.Name != "nodes"
		}
	}
	return false
}
