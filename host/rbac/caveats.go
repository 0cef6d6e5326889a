package rbac

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// escalating are the verbs without which the API server lets nobody write what grants rights that they don't have, by
// what is written, and the resources that the verb is on.
var escalating = []struct {
	verb    string
	written []string
	on      string
}{
	{"bind", []string{"rolebindings", "clusterrolebindings"}, "roles and clusterroles"},
	{"escalate", []string{"roles", "clusterroles"}, "roles and clusterroles"},
}

// Caveats says, a line each, which of the roles don't suffice for what they allow: who writes bindings may bind only
// roles whose rights they have, or that they may bind.
func Caveats(objects []runtime.Object) (all []string) {
	for _, o := range objects {
		var name string
		var rules []rbacv1.PolicyRule
		switch r := o.(type) {
		case *rbacv1.ClusterRole:
			name, rules = r.Name, r.Rules
		case *rbacv1.Role:
			name, rules = r.Namespace+"/"+r.Name, r.Rules
		}
		for _, x := range escalating {
			if resource := writtenOf(rules, x.written); resource != "" && !isAllowed(rules, x.verb) {
				all = append(all, fmt.Sprintf("%s writes %s: the API server refuses those that grant rights which whoever "+
					"writes them doesn't have. Grant these rights as well, or the verb %s on the %s that are meant, in a role of your own.",
					name, resource, x.verb, x.on))
			}
		}
	}
	return all
}

// writtenOf returns the first of the resources of RBAC that rules allow to create or to change.
func writtenOf(rules []rbacv1.PolicyRule, resources []string) string {
	for _, resource := range resources {
		for _, r := range rules {
			if slices.Contains(r.APIGroups, rbacv1.GroupName) && slices.Contains(r.Resources, resource) &&
				(slices.Contains(r.Verbs, "create") || slices.Contains(r.Verbs, "update") || slices.Contains(r.Verbs, "patch")) {
				return resource
			}
		}
	}
	return ""
}

func isAllowed(rules []rbacv1.PolicyRule, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, rbacv1.GroupName) && slices.Contains(r.Verbs, verb)
	})
}
