// Package liveread has a mistake: it gets the config from the API server in place of a view: a change of it wakes
// nobody.
package liveread

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Reads = sdk.Views{p.Sets, p.Shards, p.Roles}
	p.Writes = append(p.Writes, corev1.ConfigMaps.Verbs("get"))
	p.Config = func(c *sdk.Call, s *correct.Set) (metav1.StringMap, bool) {
		name := s.Annotations.Get(correct.ConfigAnnotation)
		if name == "" {
			return nil, true
		}
		config, err := sdk.Get(c, corev1.ConfigMaps, s.Namespace, name)
		if err != nil {
			return nil, false
		}
		return config.Data, true
	}
})
