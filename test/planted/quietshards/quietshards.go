// Package quietshards has a mistake: its view of shards wakes nobody: a shard that somebody deletes stays away.
package quietshards

import (
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Shards.Quiet()
})
