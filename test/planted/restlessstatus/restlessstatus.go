// Package restlessstatus has a mistake: it writes into its status when it last looked, which wakes it again.
package restlessstatus

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	report := p.Report
	p.Report = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) correct.Status {
		r := report(c, s, shards)
		for i := range r.Conditions {
			r.Conditions[i].Message = "last seen at " + c.Now().String()
		}
		return r
	}
})
