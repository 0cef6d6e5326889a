// Package cachedlookup has a mistake: it looks a set's config up once and keeps it in a package variable: what it does later depends on what it has seen before.
package cachedlookup

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

var configs = map[string]metav1.StringMap{}

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	config := p.Config
	p.Config = func(c *sdk.Call, s *correct.Set) (metav1.StringMap, bool) {
		if data, ok := configs[string(s.UID)]; ok {
			return data, true
		}
		data, ok := config(c, s)
		if ok {
			configs[string(s.UID)] = data.Clone()
		}
		return data, ok
	}
})
