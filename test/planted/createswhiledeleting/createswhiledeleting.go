// Package createswhiledeleting has a mistake: it goes on making shards for a set that is being deleted.
package createswhiledeleting

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	end := p.End
	p.End = func(c *sdk.Call, s *correct.Set) error {
		if config, ok := p.Config(c, s); ok {
			if err := p.Spread(c, s, p.Shards.List(c), config); err != nil {
				return err
			}
		}
		return end(c, s)
	}
})
