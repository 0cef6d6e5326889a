// Package finalizerstays has a mistake: it never takes its finalizer away: the set can't be deleted.
package finalizerstays

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.End = func(c *sdk.Call, s *correct.Set) error {
		for _, r := range p.OwnRoles(c, s) {
			if !r.Deleting() {
				c.Add(p.Delete(r))
			}
		}
		return nil
	}
})
