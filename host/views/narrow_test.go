package views

import (
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/test/worlds"
)

// TestKeysBehindAGrant is the promise of the package, and what snapshots hold, for controllers that are granted a part
// of the objects.
func TestKeysBehindAGrant(t *testing.T) {
	f := &figures{narrowed: true}
	for seed := uint64(1); f.events < worlds.Number(15_000); seed++ {
		c := randomController(rand.New(rand.NewPCG(seed, 0)))
		if err := runWorld(seed, &c, 100, f); err != nil {
			reportFailure(t, seed, &c, err)
		}
	}
	if f.changed == 0 || f.snapshots == 0 {
		t.Errorf("no grant left anything to see: %v", f)
	}
	t.Log(f)
}

// randomGrant returns one to three rules for views.
func randomGrant(r *rand.Rand) []grant.Rule {
	rules := []grant.Rule{}
	for range 1 + r.IntN(3) {
		rule := grant.Rule{
			APIGroups: []string{pick(r, []string{"*", "*", "*", "", "apps"})},
			Resources: []string{pick(r, []string{"*", "*", "*", "pods", "replicasets", "pods/status"})},
			Verbs:     []string{"watch", "list"},
		}
		if chance(r, 60) {
			rule.Namespaces = []string{pick(r, nsPool)}
		}
		if s := randomSelector(r); s != nil && chance(r, 60) {
			rule.Selector = *s
		}
		rules = append(rules, rule)
	}
	return rules
}

// granted judges an object by the rules as they are written.
func (b *brute) granted(t *thing) bool {
	return b.rules == nil || slices.ContainsFunc(b.rules, func(r grant.Rule) bool {
		in := t.ns
		if t.resource.Name == "namespaces" {
			in = t.name
		}
		s, err := metav1.LabelSelectorAsSelector(&r.Selector)
		if err != nil {
			panic(err)
		}
		one := func(pattern, name string) bool { return pattern == "*" || pattern == name }
		return one(r.APIGroups[0], t.resource.Group) && one(r.Resources[0], t.resource.Name) &&
			(r.Namespaces == nil || r.Namespaces[0] == in) && s.Matches(t.labels)
	})
}
