// Package rbac makes the Roles that the manager and its plugins need, from the plugins' manifests and the operator's
// grants.
package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/kcm"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// Plugin is a plugin with those of its controllers that run.
type Plugin struct {
	Name        string
	Builtin     bool // its module is built into the host
	Controllers []abi.Controller
}

// Options say what is made.
type Options struct {
	Config *config.Configuration
	// User is whom the manager authenticates as; system:serviceaccount:NAMESPACE:NAME is that service account.
	User string
	// Bindings adds service accounts and bindings to the roles.
	Bindings bool
	// Counts adds CountsRole.
	Counts bool
}

// The names of what is made: ManagerRole is the manager's, a plugin's has PluginPrefix before it.
const (
	ManagerRole  = "windlass"
	PluginPrefix = "windlass:"
	// CountsRole is what the manager may lack: it counts the objects that nobody acts for while their controllers don't
	// run, and says so in its status.
	CountsRole = "windlass:counts"
)

// accountNamespace is where the controllers' own service accounts are, as upstream's.
const accountNamespace = "kube-system"

// maker makes objects in an order in which they can be applied.
type maker struct {
	Options
	before, roles, bindings []runtime.Object
	seen                    map[string]bool
}

// Make returns the roles of the manager and of each plugin.
func Make(plugins []Plugin, o Options) []runtime.Object {
	m := &maker{Options: o, seen: map[string]bool{}}
	manager := rules{}
	var self []target // to impersonate
	for _, p := range plugins {
		k := o.Config.Plugin(p.Name)
		own, subjects := rules{}, map[rbacv1.Subject]bool{}
		for i := range p.Controllers {
			c := &p.Controllers[i]
			addReads(manager, c, k.Grant)
			addWrites(own, c, k.Grant)
			subjects[m.subject(&k, p.Builtin, c)] = true
		}
		self = append(self, impersonated(k.Impersonate)...)
		m.addRoles(PluginPrefix+p.Name, own, annotations(k.Grant), slices.Collect(maps.Keys(subjects)))
	}

	addReviews(manager, &o.Config.Serving)
	subject := m.account(subjectOf(o.User))
	m.addRoles(ManagerRole, manager, nil, []rbacv1.Subject{subject})
	if o.Counts {
		m.addRole(CountsRole, "", Counts(), subject)
	}

	m.addTrust(subject)
	m.addLeases(subject)
	m.impersonate(self, subject)
	if o.Config.UseServiceAccountCredentials {
		m.addTokens(subject)
	}

	if !o.Bindings {
		return m.roles
	}
	return slices.Concat(m.before, m.roles, m.bindings)
}

// Granted compiles what the configuration grants a plugin; no rules at all (nil, not an empty list) are no Grant.
func Granted(configured []config.Rule) (*grant.Grant, error) {
	if configured == nil {
		return nil, nil
	}

	rules := []grant.Rule{}
	for _, r := range configured {
		rules = append(rules, grant.Rule(r))
	}
	return grant.New(rules)
}

// addReads adds what the host reads for a controller: its views, and the objects that it writes where a lost answer has
// to be looked up.
func addReads(r rules, c *abi.Controller, g []config.Rule) {
	granted, err := Granted(g)
	for _, v := range c.Views {
		if err != nil || !granted.Reads(v.Resource) {
			return // it idles
		}
	}

	for _, v := range c.Views {
		cluster := rules{}
		if v.Resource == schema.Any {
			cluster.allowGranted(g, abi.Write{Resource: abi.Resource{Name: "*"}, Verbs: []string{"list", "watch"}})
		} else {
			cluster.add(target{group: v.Resource.Group, resource: v.Resource.Name}, "list", "watch")
		}
		for t, verbs := range cluster {
			t.namespace = "" // one cache serves all plugins, whatever namespaces they may see
			r.add(t, slices.Collect(maps.Keys(verbs))...)
		}
	}

	for _, w := range c.Writes {
		if w.Subresource != "" || !w.Changes() {
			continue
		}
		written := rules{}
		written.allowGranted(g, w)
		for t := range written {
			t.namespace, t.name = "", ""
			r.add(t, "list")
		}
	}
}

// addWrites adds what a controller's effects need, and what the host does for it under its identity.
func addWrites(r rules, c *abi.Controller, g []config.Rule) {
	for _, w := range c.Writes {
		r.allowGranted(g, w)
	}
	if c.EventSource == "" {
		return
	}
	events := func(ns string) { r.add(target{namespace: ns, resource: "events"}, "create", "patch") }
	if g == nil {
		events("")
	}
	for _, rule := range g {
		if len(rule.Namespaces) == 0 {
			events("")
		}
		for _, ns := range rule.Namespaces {
			events(ns)
		}
	}
}

// annotations say what no role can: RBAC knows no labels.
func annotations(g []config.Rule) map[string]string {
	for i := range g {
		if s := metav1.FormatLabelSelector(&g[i].Selector); s != "<none>" {
			return map[string]string{"windlass.dev/grant": "some of the plugin's rules choose objects by their labels; the host checks that, RBAC can't"}
		}
	}
	return nil
}

// subject is whom a controller writes as.
func (m *maker) subject(p *config.Plugin, builtin bool, c *abi.Controller) rbacv1.Subject {
	switch user, account := p.Impersonate.Username(), p.Account(builtin, c.ServiceAccount); {
	case user != "":
		return m.account(subjectOf(user))
	case m.Config.UseServiceAccountCredentials && account != "":
		return m.account(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: accountNamespace, Name: account})
	}
	return m.account(subjectOf(m.User))
}

func subjectOf(user string) rbacv1.Subject {
	if rest, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		if ns, name, ok := strings.Cut(rest, ":"); ok {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: name}
		}
	}
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}
}

// account has a service account made, with its namespace.
func (m *maker) account(s rbacv1.Subject) rbacv1.Subject {
	if s.Kind != rbacv1.ServiceAccountKind {
		return s
	}
	if s.Namespace != accountNamespace && !m.seen[s.Namespace] {
		m.seen[s.Namespace] = true
		m.before = slices.Insert(m.before, 0, runtime.Object(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1",
			Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}))
	}
	if id := s.Namespace + "/" + s.Name; !m.seen[id] {
		m.seen[id] = true
		m.before = append(m.before, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1",
			Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}})
	}
	return s
}

// addRoles makes the roles for rules: a ClusterRole for what is everywhere, a Role in each namespace.
func (m *maker) addRoles(name string, r rules, notes map[string]string, subjects []rbacv1.Subject) {
	slices.SortFunc(subjects, func(a, b rbacv1.Subject) int {
		return strings.Compare(a.Kind+a.Namespace+"/"+a.Name, b.Kind+b.Namespace+"/"+b.Name)
	})
	for _, ns := range r.namespaces() {
		policy := r.policyRules(ns)
		if len(policy) == 0 {
			continue
		}
		meta := metav1.ObjectMeta{Name: name, Namespace: ns, Annotations: notes}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
		if ns == "" {
			m.roles = append(m.roles, &rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: meta, Rules: policy})
			m.bindings = append(m.bindings, &rbacv1.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"),
				ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects})
			continue
		}
		ref.Kind = "Role"
		m.roles = append(m.roles, &rbacv1.Role{TypeMeta: typeMeta("Role"), ObjectMeta: meta, Rules: policy})
		m.bindings = append(m.bindings, &rbacv1.RoleBinding{TypeMeta: typeMeta("RoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}, RoleRef: ref, Subjects: subjects})
	}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// Counts returns the rules of CountsRole.
func Counts() []rbacv1.PolicyRule {
	r := rules{}
	for _, id := range kcm.Objects() {
		if o, ok := abi.ParseResource(id); ok {
			r.add(target{group: o.Group, resource: o.Name}, "list")
		}
	}
	return r.policyRules("")
}

// impersonated returns the names of whom a plugin is impersonated as, by the resource that RBAC has for them.
func impersonated(as config.Impersonate) (all []target) {
	if ns, name, ok := strings.Cut(as.ServiceAccount, "/"); ok {
		return []target{{namespace: ns, resource: "serviceaccounts", name: name}}
	}
	if as.User != "" {
		all = append(all, target{resource: "users", name: as.User})
	}
	for _, g := range as.Groups {
		all = append(all, target{resource: "groups", name: g})
	}
	return all
}

// impersonate lets the manager act as those that its plugins write as, and nobody else.
func (m *maker) impersonate(all []target, manager rbacv1.Subject) {
	names := map[target][]string{} // by namespace and kind
	for _, t := range all {
		k := target{namespace: t.namespace, resource: t.resource}
		if !slices.Contains(names[k], t.name) {
			names[k] = append(names[k], t.name)
		}
	}
	byNamespace := map[string][]rbacv1.PolicyRule{}
	for _, kind := range []string{"users", "groups", "serviceaccounts"} {
		for k, n := range names {
			if k.resource == kind {
				slices.Sort(n)
				byNamespace[k.namespace] = append(byNamespace[k.namespace],
					rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{kind}, Verbs: []string{"impersonate"},
						ResourceNames: n})
			}
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		m.addRole(ManagerRole+":impersonate", ns, byNamespace[ns], manager)
	}
}

// addTokens lets the manager take tokens of its controllers' service accounts, which it makes where they are missing.
func (m *maker) addTokens(manager rbacv1.Subject) {
	m.addRole(ManagerRole+":tokens", accountNamespace, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"create", "get"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
	}, manager)
}

// addRole makes one more role with its binding.
func (m *maker) addRole(name, namespace string, policy []rbacv1.PolicyRule, subject rbacv1.Subject) {
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	if namespace == "" {
		ref.Kind = "ClusterRole"
		m.roles = append(m.roles, &rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: meta, Rules: policy})
		m.bindings = append(m.bindings, &rbacv1.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: meta,
			RoleRef: ref, Subjects: []rbacv1.Subject{subject}})
		return
	}
	m.roles = append(m.roles, &rbacv1.Role{TypeMeta: typeMeta("Role"), ObjectMeta: meta, Rules: policy})
	m.bindings = append(m.bindings, &rbacv1.RoleBinding{TypeMeta: typeMeta("RoleBinding"), ObjectMeta: meta, RoleRef: ref,
		Subjects: []rbacv1.Subject{subject}})
}

// Choose returns the plugins by name, all without names, with their enabled controllers; in a plugin that is named
// those are, too, that only by default aren't. all are those that were found.
func Choose(c *config.Configuration, all []Plugin, aliases map[string]string, names []string) ([]Plugin, error) {
	list := config.Canonical(c.Controllers, aliases)
	var chosen []Plugin
	for _, n := range names {
		if !slices.ContainsFunc(all, func(p Plugin) bool { return p.Name == n }) {
			var known []string
			for _, p := range all {
				known = append(known, p.Name)
			}
			return nil, fmt.Errorf("there is no plugin %q: there are %s", n, strings.Join(known, ", "))
		}
	}

	for _, p := range all {
		if len(names) > 0 && !slices.Contains(names, p.Name) {
			continue
		}
		p.Controllers = slices.DeleteFunc(slices.Clone(p.Controllers), func(x abi.Controller) bool {
			name := x.Name
			if x.PartOf != "" {
				name = x.PartOf
			}
			return !config.Enabled(name, list, x.DisabledByDefault && len(names) == 0)
		})
		if len(p.Controllers) > 0 {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}
