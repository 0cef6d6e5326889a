package rbac

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/schema"
)

// target is what verbs are on: a resource, perhaps with a subresource, in one namespace or (empty) everywhere, and of
// it the object of one name or (empty) all.
type target struct{ namespace, group, resource, name string }

// rules collects verbs by target.
type rules map[target]map[string]bool

func (r rules) add(t target, verbs ...string) {
	if r[t] == nil {
		r[t] = map[string]bool{}
	}
	for _, v := range verbs {
		r[t][v] = true
	}
}

// namespaces are those that there are rules for; the empty one stands for all.
func (r rules) namespaces() []string {
	all := map[string]bool{}
	for t := range r {
		all[t.namespace] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// policyRules returns the rules of one namespace, resources with the same verbs in one.
func (r rules) policyRules(namespace string) (all []rbacv1.PolicyRule) {
	type alike struct{ group, verbs, name string }
	resources := map[alike][]string{}
	for t, verbs := range r {
		if t.namespace != namespace || r.covered(t, verbs) {
			continue
		}
		k := alike{t.group, strings.Join(slices.Sorted(maps.Keys(verbs)), " "), t.name}
		resources[k] = append(resources[k], t.resource)
	}
	for k, names := range resources {
		slices.Sort(names)
		rule := rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: names, Verbs: strings.Fields(k.verbs)}
		if k.name != "" {
			rule.ResourceNames = []string{k.name}
		}
		all = append(all, rule)
	}
	order := func(p rbacv1.PolicyRule) string {
		return p.APIGroups[0] + " " + p.Resources[0] + " " + p.Verbs[0] + " " + strings.Join(p.ResourceNames, " ")
	}
	slices.SortFunc(all, func(a, b rbacv1.PolicyRule) int { return strings.Compare(order(a), order(b)) })
	return all
}

// covered reports that the verbs are given on more already: in all namespaces, or on all objects.
func (r rules) covered(t target, verbs map[string]bool) bool {
	everywhere, all, both := t, t, t
	everywhere.namespace, all.name = "", ""
	both.namespace, both.name = "", ""
	for v := range verbs {
		given := t != everywhere && r[everywhere][v] || t != all && r[all][v] || t != both && r[both][v]
		if !given {
			return false
		}
	}
	return true
}

// resourceName returns a resource as RBAC writes it.
func resourceName(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

// rolesKnow returns those of the verbs that the API server asks roles for: whether something is signed for a plugin
// with a token or with the key of tokens is a matter of the grant alone.
func rolesKnow(w abi.Write) []string {
	if w.Resource.Name == "signers" {
		return w.Verbs
	}
	return slices.DeleteFunc(slices.Clone(w.Verbs), func(v string) bool { return v == "sign" })
}

// allowGranted adds what a right of the manifest has, as far as the grant has it.
func (r rules) allowGranted(grant []config.Rule, w abi.Write) {
	w.Verbs = rolesKnow(w)
	if len(w.Verbs) == 0 {
		return
	}
	group, any := w.Resource.Group, w.Resource.Name == "*"
	if any && w.Resource.Version == "" {
		group = "*" // the manifest's "*" is of all groups
	}
	if grant == nil {
		r.addIn(w.Namespaces, w.Names, group, resourceName(w.Resource.Name, w.Subresource), w.Verbs)
		return
	}

	for i := range grant {
		g := &grant[i]
		granted := intersection(w.Verbs, g.Verbs)
		if len(granted) == 0 {
			continue
		}
		if len(g.Namespaces) > 0 && clusterScoped(w.Resource) {
			continue // no Role can give them, and the grant doesn't cover them
		}
		namespaces, some := inBoth(w.Namespaces, g.Namespaces)
		if !some {
			continue
		}
		for _, group := range intersection([]string{group}, g.APIGroups) {
			for _, pattern := range g.Resources {
				if resource, ok := overlap(w.Resource.Name, w.Subresource, pattern); ok {
					r.addIn(namespaces, w.Names, group, resource, granted)
				}
			}
		}
	}
}

// addIn adds verbs in some namespaces and on objects of some names; none of either stands for all.
func (r rules) addIn(namespaces, names []string, group, resource string, verbs []string) {
	for _, ns := range orAll(namespaces) {
		for _, name := range orAll(names) {
			r.add(target{ns, group, resource, name}, verbs...)
		}
	}
}

// orAll returns the names, or the empty one, which stands for all, where there are none.
func orAll(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// inBoth returns the namespaces that both have, where none stands for all, and whether there are any.
func inBoth(a, b []string) (both []string, some bool) {
	switch {
	case len(a) == 0:
		return b, true
	case len(b) == 0:
		return a, true
	}
	for _, ns := range a {
		if slices.Contains(b, ns) {
			both = append(both, ns)
		}
	}
	return both, len(both) > 0
}

// clusterScoped reports of built-in resources that are in no namespace; a Namespace is in itself.
func clusterScoped(r abi.Resource) bool {
	if r.Group == "" && r.Name == "namespaces" {
		return false
	}
	s, err := schema.For(r)
	return err == nil && !s.Namespaced
}

// intersection returns what both lists have, where "*" is everything.
func intersection(want, granted []string) (both []string) {
	switch {
	case slices.Contains(granted, "*"):
		return want
	case slices.Contains(want, "*"):
		return granted
	}
	for _, w := range want {
		if slices.Contains(granted, w) {
			both = append(both, w)
		}
	}
	return both
}

// overlap returns what a manifest's resource, which may be "*", and a grant's pattern both cover.
func overlap(resource, subresource, pattern string) (string, bool) {
	want := resourceName(resource, subresource)
	if pattern == "*" {
		return want, true
	}
	plural, sub, _ := strings.Cut(pattern, "/")
	if sub != subresource {
		return "", false
	}
	switch {
	case plural == "*" || plural == resource:
		return want, true
	case resource == "*":
		return pattern, true
	}
	return "", false
}
