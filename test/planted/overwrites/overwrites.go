// Package overwrites has a mistake: it updates shards without a precondition, so that it undoes what others have done
// since it looked.
package overwrites

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
			want := p.New(c, s, i, config)
			at := slices.IndexFunc(shards, func(sh *correct.Shard) bool { return sh.Name == want.Name })
			if at < 0 {
				c.Add(sdk.Create(want))
			} else if sh := sdk.Clone(shards[at]); p.Mend(sh, want) {
				c.Add(sdk.Update(sh, sdk.Unconditional()))
			}
		}
		for _, sh := range shards[min(len(shards), p.Wanted(s)):] {
			c.Add(p.Delete(sh))
		}
		return nil
	}
})
