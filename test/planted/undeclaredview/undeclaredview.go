// Package undeclaredview has a mistake: it reads a view that is not among the controller's reads.
package undeclaredview

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Reads = sdk.Views{p.Sets, p.Configs, p.Shards}
})
