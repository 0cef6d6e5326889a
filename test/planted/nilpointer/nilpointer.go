// Package nilpointer has a mistake: it takes for granted that the config is there.
package nilpointer

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Config = func(c *sdk.Call, s *correct.Set) (metav1.StringMap, bool) {
		config, _ := p.Configs.Get(c)
		return config.Data, true
	}
})
