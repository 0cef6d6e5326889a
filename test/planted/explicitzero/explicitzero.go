// Package explicitzero has a mistake: it takes the 0 that somebody has set for nothing set, and writes its default over
// it.
package explicitzero

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	sync := p.Sync
	p.Sync = func(c *sdk.Call) error {
		s, ok := p.Sets.Get(c)
		if ok && !s.Deleting() && (s.Spec.Replicas == nil || *s.Spec.Replicas == 0) {
			one := int32(1)
			s = sdk.Clone(s)
			s.Spec.Replicas = &one
			return c.Update(s)
		}
		return sync(c)
	}
})
