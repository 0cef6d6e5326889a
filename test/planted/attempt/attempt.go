// Package attempt has a mistake: what it makes depends on how often it has failed.
package attempt

import (
	"strconv"

	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	made := p.New
	p.New = func(c *sdk.Call, s *correct.Set, index int, config metav1.StringMap) *correct.Shard {
		sh := made(c, s, index, config)
		if c.Attempt() > 0 {
			sh.Annotations.Set("shards.example.com/attempt", strconv.Itoa(c.Attempt()))
		}
		return sh
	}
})
