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

// target is what verbs are on: a resource, perhaps with a subresource, in one namespace or (empty) everywhere.
type target struct{ namespace, group, resource string }

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
	type alike struct{ group, verbs string }
	resources := map[alike][]string{}
	for t, verbs := range r {
		if t.namespace != namespace || namespace != "" && r.everywhere(t, verbs) {
			continue
		}
		k := alike{t.group, strings.Join(slices.Sorted(maps.Keys(verbs)), " ")}
		resources[k] = append(resources[k], t.resource)
	}
	for k, names := range resources {
		slices.Sort(names)
		all = append(all, rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: names, Verbs: strings.Fields(k.verbs)})
	}
	slices.SortFunc(all, func(a, b rbacv1.PolicyRule) int {
		return strings.Compare(a.APIGroups[0]+" "+a.Resources[0]+" "+a.Verbs[0],
			b.APIGroups[0]+" "+b.Resources[0]+" "+b.Verbs[0])
	})
	return all
}

// everywhere reports that the verbs are given in all namespaces already.
func (r rules) everywhere(t target, verbs map[string]bool) bool {
	t.namespace = ""
	for v := range verbs {
		if !r[t][v] {
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

// allowGranted adds what the manifest wants on a resource, as far as the grant has it.
func (r rules) allowGranted(grant []config.Rule, want abi.Resource, subresource string, verbs ...string) {
	group, any := want.Group, want.Name == "*"
	if any && want.Version == "" {
		group = "*" // the manifest's "*" is of all groups
	}
	if grant == nil {
		r.add(target{"", group, resourceName(want.Name, subresource)}, verbs...)
		return
	}

	for i := range grant {
		g := &grant[i]
		granted := intersection(verbs, g.Verbs)
		if len(granted) == 0 {
			continue
		}
		namespaces := g.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{""}
		} else if clusterScoped(want) {
			continue // no Role can give them, and the grant doesn't cover them
		}
		for _, group := range intersection([]string{group}, g.APIGroups) {
			for _, pattern := range g.Resources {
				resource, ok := overlap(want.Name, subresource, pattern)
				if !ok {
					continue
				}
				for _, ns := range namespaces {
					r.add(target{ns, group, resource}, granted...)
				}
			}
		}
	}
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
