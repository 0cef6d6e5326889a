// Package longname has a mistake: it makes a shard's name longer than names may be, where the set's is long.
package longname

import (
	"strconv"

	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Name = func(s *correct.Set, index int) string { return s.Name + "-shard-" + strconv.Itoa(index) }
})
