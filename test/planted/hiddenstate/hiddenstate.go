// Package hiddenstate has a mistake: it remembers in a package variable what it has made, which a fresh sandbox does
// not.
package hiddenstate

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

var made = map[string]bool{}

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Spread = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard, config metav1.StringMap) error {
		for i := range p.Wanted(s) {
			if sh := p.New(c, s, i, config); !made[string(s.UID)+sh.Name] {
				made[string(s.UID)+sh.Name] = true
				c.Add(sdk.Create(sh))
			}
		}
		for _, sh := range shards[min(len(shards), p.Wanted(s)):] {
			c.Add(p.Delete(sh))
		}
		return nil
	}
})
