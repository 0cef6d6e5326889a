// Package swallowederror has a mistake: it performs its creates and forgets their errors.
package swallowederror

import (
	"slices"

	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Spread = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard, config metav1.StringMap) error {
		for i := range p.Wanted(s) {
			sh := p.New(c, s, i, config)
			if !slices.ContainsFunc(shards, func(x *correct.Shard) bool { return x.Name == sh.Name }) {
				_ = c.Do(sdk.Create(sh))
			}
		}
		for _, sh := range shards[min(len(shards), p.Wanted(s)):] {
			_ = c.Do(p.Delete(sh))
		}
		return nil
	}
})
