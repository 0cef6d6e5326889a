// Package eachtimeanevent has a mistake: it sends an event in each sync.
package eachtimeanevent

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	wait := p.Wait
	p.Wait = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) error {
		c.Event(s, corev1.EventTypeNormal, "Synced", "the shards are as they should be")
		return wait(c, s, shards)
	}
})
