// Package finalizerfirst has a mistake: it lets the set go before it deletes the role: a crash in between leaves the
// role behind.
package finalizerfirst

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.End = func(c *sdk.Call, s *correct.Set) error {
		held := sdk.Clone(s)
		if held.RemoveFinalizer(correct.Finalizer) {
			c.Add(sdk.Update(held))
		}
		for _, r := range p.OwnRoles(c, s) {
			c.Add(p.Delete(r))
		}
		return nil
	}
})
