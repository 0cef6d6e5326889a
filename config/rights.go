package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/config/kcm"
)

// Narrowed returns the configuration before, with what the one after it allows its plugins less. It is all of an edit
// that may be applied before it is known to be whole.
func Narrowed(before, after *Configuration) *Configuration {
	k := *before
	k.Plugins = slices.Clone(before.Plugins)
	for i := range after.Plugins {
		now, was := &after.Plugins[i], before.entry(after.Plugins[i].Name)
		if !Widens(was, now) {
			k.configured(now.Name).setRights(now)
		}
	}
	return &k
}

// HeldBack returns the configuration after, with what it would allow its plugins more than the one before as it was
// before, and which plugins or fields these are. A controller that runs and was off may do more.
func HeldBack(before, after *Configuration) (_ *Configuration, held []string) {
	k := *after
	k.Plugins = slices.Clone(after.Plugins)
	for i := range before.Plugins {
		was := &before.Plugins[i]
		now := after.entry(was.Name)
		if !Widens(was, now) {
			continue
		}
		held = append(held, "plugins["+was.Name+"]")
		if slices.ContainsFunc(after.Plugins, func(p Plugin) bool { return p.Name == was.Name }) {
			k.configured(was.Name).setRights(was)
		} else {
			k.Plugins = append(k.Plugins, *was)
		}
	}

	if before.UseServiceAccountCredentials && !after.UseServiceAccountCredentials {
		k.UseServiceAccountCredentials = true
		held = append(held, "useServiceAccountCredentials")
	}
	if widensControllers(before.Controllers, after.Controllers) {
		k.Controllers = inBoth(before.Controllers, after.Controllers)
		held = append(held, "controllers")
	}
	if was := before.Registries.VerificationKeys; widensKeys(was, after.Registries.VerificationKeys) {
		k.Registries.VerificationKeys = was
		held = append(held, "registries.verificationKeys")
	}
	return &k, held
}

// entry returns a plugin's entry as it is written, or an empty one.
func (c *Configuration) entry(plugin string) *Plugin {
	for i := range c.Plugins {
		if c.Plugins[i].Name == plugin {
			return &c.Plugins[i]
		}
	}
	return &Plugin{Name: plugin}
}

// setRights has a plugin be allowed what another configuration of it allows.
func (p *Plugin) setRights(from *Plugin) {
	p.Grant, p.Impersonate, p.ServiceAccount = from.Grant, from.Impersonate, from.ServiceAccount
	p.Budget.DeletesPerMinute, p.VerificationKeys = from.Budget.DeletesPerMinute, from.VerificationKeys
}

// Widens reports whether a plugin's entry may allow anything that the one before doesn't: an entry that is gone allows
// everything. An identity is neither more nor less than another one, so that each may be more.
func Widens(was, now *Plugin) bool {
	asSomebody := was.ServiceAccount != "" || was.Impersonate.Username() != ""
	switch deletes := now.Budget.DeletesPerMinute; {
	case !coversGrant(was.Grant, now.Grant),
		asSomebody && (was.ServiceAccount != now.ServiceAccount || !equality.Semantic.DeepEqual(was.Impersonate,
			now.Impersonate)),
		was.Budget.DeletesPerMinute > 0 && (deletes == 0 || deletes > was.Budget.DeletesPerMinute):
		return true
	}
	return widensKeys(was.VerificationKeys, now.VerificationKeys)
}

// widensKeys reports whether images may be accepted that were refused before.
func widensKeys(was, now []string) bool {
	return len(was) > 0 && (len(now) == 0 || !isSubset(now, was))
}

// widensControllers reports whether any controller may run that was off before: a list that isn't there, as in half of
// a file, has all of them run.
func widensControllers(was, now []string) bool {
	aliases := kcm.Aliases()
	was, now = Canonical(was, aliases), Canonical(now, aliases)
	names := append(namesIn(was, now), "") // any controller that neither list names
	return slices.ContainsFunc(names, func(name string) bool { return isOn(name, now) && !isOn(name, was) })
}

// inBoth is a list of the controllers that both lists have run.
func inBoth(was, now []string) (list []string) {
	aliases := kcm.Aliases()
	was, now = Canonical(was, aliases), Canonical(now, aliases)
	for _, name := range namesIn(was, now) {
		if isOn(name, was) && isOn(name, now) {
			list = append(list, name)
		} else {
			list = append(list, "-"+name)
		}
	}
	if isOn("", was) && isOn("", now) {
		list = append(list, "*")
	}
	return list
}

// isOn reports whether a list of canonical names has a controller run; "" is any that it doesn't name.
func isOn(name string, list []string) bool {
	off := slices.ContainsFunc(kcm.Controllers, func(c kcm.Controller) bool {
		return c.Name == name && c.DisabledByDefault
	})
	return Enabled(name, list, off)
}

// namesIn returns the names that stand in either of two lists, each once.
func namesIn(a, b []string) (names []string) {
	for _, entry := range slices.Concat(a, b) {
		if name := strings.TrimPrefix(entry, "-"); name != "*" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// coversGrant reports whether a grant has all that another one has, as far as that is seen by comparing rules one by
// one. A grant that is nil has everything.
func coversGrant(all, some []Rule) bool {
	if all == nil || some == nil {
		return all == nil
	}
	for i := range some {
		if !slices.ContainsFunc(all, func(r Rule) bool { return coversRule(&r, &some[i]) }) {
			return false
		}
	}
	return true
}

func coversRule(all, some *Rule) bool {
	covers := func(all, some []string) bool { return slices.Contains(all, "*") || isSubset(some, all) }
	return covers(all.APIGroups, some.APIGroups) && covers(all.Resources, some.Resources) &&
		covers(all.Verbs, some.Verbs) &&
		(len(all.Namespaces) == 0 || len(some.Namespaces) > 0 && isSubset(some.Namespaces, all.Namespaces)) &&
		(equality.Semantic.DeepEqual(all.Selector, metav1.LabelSelector{}) ||
			equality.Semantic.DeepEqual(all.Selector, some.Selector))
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
