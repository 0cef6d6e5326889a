// Package deletebyname has a mistake: it makes up the name of what it deletes, without having seen it: no UID says
// which object of that name it means.
package deletebyname

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.End = func(c *sdk.Call, s *correct.Set) error {
		role := &correct.Role{}
		role.Name = "shards-" + string(s.UID)
		if s = sdk.Clone(s); s.RemoveFinalizer(correct.Finalizer) {
			c.Add(p.Delete(role), sdk.Update(s))
		}
		return nil
	}
})
