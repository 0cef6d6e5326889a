// Package deleteblindly has a mistake: it deletes whatever has the name by now.
package deleteblindly

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Delete = func(o sdk.Object) sdk.Effect {
		return sdk.Delete(o, sdk.Unconditional(), sdk.Tolerate(abi.TolerateNotFound))
	}
})
