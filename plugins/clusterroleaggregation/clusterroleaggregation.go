// Package clusterroleaggregation gives ClusterRoles that aggregate others the rules of those.
//
// A ClusterRole with an aggregation rule gets the rules of all ClusterRoles that its selectors find, one selector
// after another, each rule once. They are applied, so that others' fields stay, unless the role has them already.
package clusterroleaggregation

import (
	"slices"
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	rbacv1 "github.com/windlass-dev/windlass/sdk/api/rbac/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
)

var (
	roles = sdk.Select(rbacv1.ClusterRoles, sdk.Exists("aggregationRule")).
		Fields("metadata.name", "aggregationRule", "rules").QuietOn(abi.QuietOwn)
	aggregated = sdk.Select(rbacv1.ClusterRoles, sdk.SelectedBy(roles, "aggregationRule.clusterRoleSelectors")).
			Named("aggregated roles").Fields("metadata.name", "metadata.labels", "rules")
)

// Plugin is the clusterroleaggregation module (pkg/controller/clusterroleaggregation).
var Plugin = &sdk.Plugin{
	Name:        "clusterroleaggregation",
	Version:     "1.0.0",
	Description: "Gives ClusterRoles that aggregate others the rules of those.",
	Controllers: []*sdk.Controller{{
		Name:           "clusterrole-aggregation-controller",
		Alias:          "clusterrole-aggregation",
		Queue:          "ClusterRoleAggregator",
		ServiceAccount: "clusterrole-aggregation-controller",
		Reads:          sdk.Views{roles, aggregated},
		Writes:         sdk.Writes{rbacv1.ClusterRoles.Verbs("patch", "escalate")}, // it gives rules it hasn't itself
		Workers:        5,
		Sync:           sync,
	}},
}

func sync(c *sdk.Call) error {
	role, ok := roles.Get(c)
	if !ok {
		return nil
	}

	var rules []rbacv1.PolicyRule
	has := map[string]bool{}
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		if err := labels.Check(&selector); err != nil {
			return err
		}
		for _, other := range aggregated.List(c) {
			if other.Name == role.Name || !labels.Selects(&selector, other.Labels) {
				continue
			}
			for _, r := range other.Rules {
				if id := identity(r); !has[id] {
					has[id] = true
					rules = append(rules, r)
				}
			}
		}
	}

	if !slices.EqualFunc(rules, role.Rules, sameRule) {
		// Nothing but the rules is to be the controller's. With the UID a role that is gone isn't made anew.
		applied := &rbacv1.ClusterRole{Rules: rules}
		applied.Name, applied.UID = role.Name, role.UID
		c.Add(sdk.Apply(applied))
	}
	return nil
}

// sameRule reports whether two rules say the same, in the same order.
func sameRule(a, b rbacv1.PolicyRule) bool { return identity(a) == identity(b) }

// identity returns the same text for rules that say the same in the same order, and for no others: there may be too
// many to compare each with each.
func identity(r rbacv1.PolicyRule) string {
	var b []byte
	for _, list := range [][]string{r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs} {
		b = append(strconv.AppendInt(b, int64(len(list)), 10), ';')
		for _, s := range list {
			b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
			b = append(b, s...)
		}
	}
	return string(b)
}
