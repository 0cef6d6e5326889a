// Package maporder has a mistake: it writes what a Go map holds in the order of the map, another one each time.
package maporder

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	made := p.New
	p.New = func(c *sdk.Call, s *correct.Set, index int, config metav1.StringMap) *correct.Shard {
		all := map[string]string{"set": s.Name, "namespace": s.Namespace}
		for _, x := range config {
			all[x.Key] = x.Value
		}
		sh := made(c, s, index, config)
		text := ""
		for k := range all {
			text += k + " "
		}
		sh.Data.Set("keys", text)
		return sh
	}
})
