// Package stalewish has a mistake: it takes what the cache does not show yet for what will never be: a config that is
// not there when the set is first looked at makes the set fail for good.
package stalewish

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	config := p.Config
	p.Config = func(c *sdk.Call, s *correct.Set) (metav1.StringMap, bool) {
		if failed(&s.Status) {
			return nil, false
		}
		return config(c, s)
	}
	report := p.Report
	p.Report = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) correct.Status {
		r := report(c, s, shards)
		if _, ok := config(c, s); !ok && !failed(&r) {
			correct.Condition(&r, appsv1.ReplicaSetCondition{Type: "Failed", Status: corev1.ConditionTrue,
				LastTransitionTime: c.Now().Truncate(), Message: "there is no such config"})
		}
		return r
	}
})

func failed(r *correct.Status) bool {
	for i := range r.Conditions {
		if r.Conditions[i].Type == "Failed" {
			return true
		}
	}
	return false
}
