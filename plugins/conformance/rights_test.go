package conformance

import (
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
		role, ok := roles[c.ServiceAccount]
		if !ok {
			t.Errorf("%s: upstream has no service account %q with a role", c.Name, c.ServiceAccount)
			continue
		}
		written := grantedWrites(p, c)
		for _, r := range role {
			checkFinalizers(t, c, r, written)
		}
		for _, need := range written {
			any = true
			if !roleAllows(role, need) {
				t.Errorf("%s writes what the role of %s doesn't allow: %s", c.Name, c.ServiceAccount, need)
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
			return slices.Contains(written, need{group, resource, "update"})
		})
		if !may {
			t.Errorf("%s may not update %s, as upstream's may: its children couldn't block their owner's deletion",
				c.Name, resource)
		}
	}
}

// need is one verb on one resource.
type need struct{ group, resource, verb string }

func (n need) String() string { return n.verb + " " + strings.TrimPrefix(n.group+"/"+n.resource, "/") }

// grantedWrites returns what windlass rbac prints for a controller, one by one.
func grantedWrites(p builtin.Plugin, c builtin.Controller) (all []need) {
	made := rbac.Make(
		[]rbac.Plugin{{Name: p.Folder, Builtin: true, Controllers: []abi.Controller{c.Manifest}}},
		rbac.Options{Config: config.Default()},
	)
	for _, o := range made {
		role, ok := o.(*rbacv1.ClusterRole)
		if !ok || role.Name != rbac.PluginPrefix+p.Folder {
			continue
		}
		for _, r := range role.Rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, need{r.APIGroups[0], resource, verb})
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
		return len(r.ResourceNames) == 0 && has(r.APIGroups, n.group) && has(r.Resources, n.resource) && has(r.Verbs, n.verb)
	})
}
