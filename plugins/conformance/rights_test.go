package conformance

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/rbac"
	"github.com/windlass-dev/windlass/plugins/builtin"
)

// checkRights checks that whatever a controller may write by its manifest, upstream's service account of it may write
// in every cluster.
func checkRights(t *testing.T, p builtin.Plugin) {
	text, err := os.ReadFile("testdata/roles.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var roles map[string][]rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict(text, &roles); err != nil {
		t.Fatal(err)
	}

	any := false
	for _, c := range p.Controllers() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(roles)), func(name string) bool {
			return name == c.ServiceAccount || strings.HasSuffix(name, "/"+c.ServiceAccount)
		}) {
			t.Errorf("%s: upstream has no service account %q with a role", c.Name, c.ServiceAccount)
			continue
		}
		written := grantedWrites(p, c)
		for _, r := range roles[c.ServiceAccount] {
			checkFinalizers(t, c, r, written)
		}
		for _, need := range written {
			any = true
			if !roleAllows(roles[c.ServiceAccount], need) && !roleAllows(roles[need.namespace+"/"+c.ServiceAccount], need) {
				t.Errorf("%s writes what no role of upstream's service account %q allows: %s", c.Name, c.ServiceAccount, need)
			}
		}
	}

	if !any {
		t.Error("no controller of it writes anything")
	}
}

// checkFinalizers checks that a controller may set the finalizers of what upstream's role lets it: admission asks for
// that, where it is told to (OwnerReferencesPermissionEnforcement), of who makes children that block their owner's
// deletion.
func checkFinalizers(t *testing.T, c builtin.Controller, r rbacv1.PolicyRule, written []need) {
	if c.PartOf != "" {
		return // the whole does it
	}
	for _, resource := range r.Resources {
		if !strings.HasSuffix(resource, "/finalizers") {
			continue
		}
		may := slices.ContainsFunc(r.APIGroups, func(group string) bool {
			return slices.Contains(written, need{group: group, resource: resource, verb: "update"})
		})
		if !may {
			t.Errorf("%s may not update %s, as upstream's may: its children couldn't block their owner's deletion",
				c.Name, resource)
		}
	}
}

// need is one verb on one resource, perhaps in one namespace alone, perhaps on the object of one name.
type need struct{ group, resource, verb, namespace, name string }

func (n need) String() string {
	return strings.TrimSpace(n.verb + " " + strings.TrimPrefix(n.group+"/"+n.resource, "/") + " " +
		strings.TrimPrefix(n.namespace+"/"+n.name, "/"))
}

// grantedWrites returns what windlass rbac prints for a controller, one by one.
func grantedWrites(p builtin.Plugin, c builtin.Controller) (all []need) {
	made := rbac.Make(
		[]rbac.Plugin{{Name: p.Folder, Builtin: true, Controllers: []abi.Controller{c.Manifest}}},
		rbac.Options{Config: config.Default()},
	)
	for _, o := range made {
		switch role := o.(type) {
		case *rbacv1.ClusterRole:
			if role.Name == rbac.PluginPrefix+p.Folder {
				all = append(all, needs("", role.Rules)...)
			}
		case *rbacv1.Role:
			if role.Name == rbac.PluginPrefix+p.Folder {
				all = append(all, needs(role.Namespace, role.Rules)...)
			}
		}
	}
	return all
}

// needs returns what rules allow, one by one.
func needs(namespace string, rules []rbacv1.PolicyRule) (all []need) {
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				for _, name := range names {
					all = append(all, need{r.APIGroups[0], resource, verb, namespace, name})
				}
			}
		}
	}
	return all
}

// roleAllows reports whether a role allows something.
func roleAllows(role []rbacv1.PolicyRule, n need) bool {
	has := func(list []string, s string) bool { return slices.Contains(list, s) || slices.Contains(list, "*") }
	return slices.ContainsFunc(role, func(r rbacv1.PolicyRule) bool {
		return (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, n.name)) && has(r.APIGroups, n.group) &&
			has(r.Resources, n.resource) && has(r.Verbs, n.verb)
	})
}
