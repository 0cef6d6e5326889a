// Package swallowederror has a mistake: it performs the update of its status and forgets the error.
package swallowederror

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/resource"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	report := p.Report
	p.Report = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) correct.Status {
		reported := sdk.Clone(s)
		reported.Status = report(c, s, shards)
		if !resource.Equal(reported, s) {
			_ = c.Do(sdk.UpdateStatus(reported))
		}
		return s.Status
	}
})
