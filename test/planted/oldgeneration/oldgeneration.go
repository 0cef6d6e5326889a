// Package oldgeneration has a mistake: it writes the observed generation only along with other news.
package oldgeneration

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	report := p.Report
	p.Report = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) correct.Status {
		r := report(c, s, shards)
		if r.Replicas == s.Status.Replicas {
			r.ObservedGeneration = s.Status.ObservedGeneration
		}
		return r
	}
})
