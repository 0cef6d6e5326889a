// Package statusaswished has a mistake: its status tells of as many shards as there should be, not of those that there
// are.
package statusaswished

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	report := p.Report
	p.Report = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) correct.Status {
		r := report(c, s, shards)
		r.Replicas = int32(p.Wanted(s))
		return r
	}
})
