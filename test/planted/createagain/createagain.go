// Package createagain has a mistake: it creates what the status says is missing, not what is: a crash between the
// creates and the status makes them twice.
package createagain

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Spread = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard, config metav1.StringMap) error {
		for i := int(s.Status.Replicas); i < p.Wanted(s); i++ {
			sh := p.New(c, s, i, config)
			sh.GenerateName, sh.Name = s.Name+"-", ""
			c.Add(sdk.Create(sh))
		}
		return nil
	}
	report := p.Report
	p.Report = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) correct.Status {
		r := report(c, s, shards)
		r.Replicas = max(s.Status.Replicas, int32(p.Wanted(s)))
		return r
	}
	p.Write = func(s *correct.Set) sdk.Effect { return sdk.UpdateStatus(s) }
})
