// Package countsterminating has a mistake: it counts shards that are being deleted.
package countsterminating

import (
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Counts = func(*correct.Shard) bool { return true }
})
