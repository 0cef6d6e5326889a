// Package norequeue has a mistake: it doesn't come back when the shards have become available.
package norequeue

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Wait = func(*sdk.Call, *correct.Set, []*correct.Shard) error { return nil }
})
