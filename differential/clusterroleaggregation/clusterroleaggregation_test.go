package clusterroleaggregation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/clusterroleaggregation"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/clusterroleaggregation"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/clusterroleaggregation.(*ClusterRoleAggregationController).processNextWorkItem
func process(*upstream.ClusterRoleAggregationController, context.Context) bool

var roles = rbacv1.SchemeGroupVersion.WithResource("clusterroles")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject("")) }

// Where roles aggregate one another in a circle several sets of rules are stable, and which it comes to hangs on the
// order of the writes: with late caches that is chance.
func TestCirclesAsUpstream(t *testing.T) {
	s := subject("circle-")
	s.Share = 2
	differential.Run(t, s)
}

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject("")) }

func subject(prefix string) *differential.Subject {
	return &differential.Subject{
		Controller: "clusterrole-aggregation-controller",
		Plugin:     clusterroleaggregation.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c := upstream.NewClusterRoleAggregation(e.Informers.Rbac().V1().ClusterRoles(), e.Client.RbacV1())
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for range 1 + r.IntN(6) {
				all = append(all, role(r, prefix+names[len(all)]))
			}
			return all
		},
		Deeds: []differential.Deed{
			differential.Vary(roles, "other labels",
				func(r *world.Rand, o *rbacv1.ClusterRole) { o.Labels = labels(r, o.Name) }),
			differential.Vary(roles, "other rules", func(r *world.Rand, o *rbacv1.ClusterRole) { o.Rules = rules(r) }),
			differential.Vary(roles, "the rules in another order", func(r *world.Rand, o *rbacv1.ClusterRole) {
				r.Shuffle(len(o.Rules), func(i, j int) { o.Rules[i], o.Rules[j] = o.Rules[j], o.Rules[i] })
			}),
			differential.Vary(roles, "other selectors",
				func(r *world.Rand, o *rbacv1.ClusterRole) { o.AggregationRule = aggregation(r, o.Name) }),
			differential.Vary(roles, "the end", func(r *world.Rand, o *rbacv1.ClusterRole) { r.End(o) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return role(r, prefix+world.Of(r, names...)) }),
			differential.Delete(roles),
			differential.Vanish(roles),
		},
		Faults: []string{"patch clusterroles"},
	}
}

// names are those of the roles, in no order of theirs. Each is aggregated by later ones alone, or in a circle by all.
var names = []string{"edit", "admin", "view", "system:node", "Admin", "a.b"}

// place returns a role's place among the names, and whether it may be in a circle.
func place(name string) (i int, circle bool) {
	name, circle = strings.CutPrefix(name, "circle-")
	return slices.Index(names, name), circle
}

func role(r *world.Rand, name string) *rbacv1.ClusterRole {
	o := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000), Labels: labels(r, name),
	}}
	o.Rules = rules(r)
	if r.One(2) {
		o.AggregationRule = aggregation(r, name)
	}
	if r.One(8) {
		o.Finalizers = []string{"example.com/stay"}
	}
	return o
}

// labels say which others a role is to be in.
func labels(r *world.Rand, name string) map[string]string {
	all := map[string]string{}
	own, circle := place(name)
	for i := range names {
		if (i > own || circle) && r.One(2) {
			all[fmt.Sprint("to-", i)] = world.Of(r, "true", "true", "false")
		}
	}
	return all
}

func rules(r *world.Rand) (all []rbacv1.PolicyRule) {
	for range r.IntN(4) {
		verbs := [][]string{{"get"}, {"list"}, {"get", "list"}, {"list", "get"}}[r.IntN(4)]
		if r.One(5) {
			all = append(all, rbacv1.PolicyRule{Verbs: verbs, NonResourceURLs: []string{world.Of(r, "/healthz", "/metrics")}})
			continue
		}
		rule := rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{world.Of(r, "", "apps")},
			Resources: []string{world.Of(r, "pods", "deployments")}}
		if r.One(4) {
			rule.ResourceNames = []string{"web"}
		}
		all = append(all, rule)
	}
	return all
}

func aggregation(r *world.Rand, name string) *rbacv1.AggregationRule {
	own, circle := place(name)
	all := circle || own == len(names)-1 // nobody aggregates the last one
	key := fmt.Sprint("to-", own)
	rule := &rbacv1.AggregationRule{}
	for range 1 + r.IntN(3) {
		var s metav1.LabelSelector
		requirement := metav1.LabelSelectorRequirement{Key: key}
		switch kind := r.IntN(8); {
		case kind == 0 && all: // takes in all
		case kind == 1 && all:
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpNotIn, []string{"true", fmt.Sprint(r.One(2))}
			s.MatchExpressions = append(s.MatchExpressions, requirement)
		case kind == 2:
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpIn, []string{"true", fmt.Sprint(r.One(2))}
			s.MatchExpressions = append(s.MatchExpressions, requirement)
		case kind == 3:
			requirement.Operator = metav1.LabelSelectorOpExists
			s.MatchExpressions = append(s.MatchExpressions, requirement)
		default:
			s.MatchLabels = map[string]string{key: "true"}
		}
		rule.ClusterRoleSelectors = append(rule.ClusterRoleSelectors, s)
	}
	return rule
}
