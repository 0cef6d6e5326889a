// Package statusbyupdate has a mistake: it writes its status by an update of the set, of which the API server takes
// everything but the status.
package statusbyupdate

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Write = func(s *correct.Set) sdk.Effect { return sdk.Update(s) }
})
