// Package foreignlabels has a mistake: it puts its own labels in the place of all labels that a shard has.
package foreignlabels

import (
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Mend = func(sh, want *correct.Shard) bool {
		if len(sh.Labels) == len(want.Labels) && sh.Data.Get(correct.IndexKey) == want.Data.Get(correct.IndexKey) {
			return false
		}
		sh.Labels, sh.Data = want.Labels, want.Data
		return true
	}
})
