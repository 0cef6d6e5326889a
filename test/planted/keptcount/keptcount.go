// Package keptcount has a mistake: it counts in its state what it has made. State ends with the process; what must
// outlast it belongs in objects.
package keptcount

import (
	"strconv"

	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.State = true
	p.Spread = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard, config metav1.StringMap) error {
		count, _ := strconv.Atoi(string(c.State()))
		for ; count < p.Wanted(s); count++ {
			sh := p.New(c, s, count, config)
			sh.GenerateName, sh.Name = s.Name+"-", ""
			c.Add(sdk.Create(sh))
		}
		c.SetState([]byte(strconv.Itoa(count)))
		return nil
	}
})
