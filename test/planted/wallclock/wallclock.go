// Package wallclock has a mistake: it takes the time from the machine, not from the call.
package wallclock

import (
	"time"

	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Wait = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard) error {
		for _, sh := range shards {
			available := sh.CreationTimestamp.Add(time.Duration(s.Spec.MinReadySeconds) * time.Second)
			if left := available.UnixNano() - time.Now().UnixNano(); left > 0 && !sh.Deleting() {
				_ = c.After(time.Duration(left))
			}
		}
		return nil
	}
})
