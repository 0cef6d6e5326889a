// Package createblindly has a mistake: it has the API server make the names and never looks for what it has made: its
// view asks for a label that it forgets to set.
package createblindly

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Shards = sdk.Select(corev1.ConfigMaps, sdk.KeyNamespace(), sdk.ControlledBy(p.Sets),
		sdk.In("metadata.labels[shards.example.com/shard]", "true")).Named("shards").
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences",
			"data")
	made := p.New
	p.New = func(c *sdk.Call, s *correct.Set, index int, config metav1.StringMap) *correct.Shard {
		sh := made(c, s, index, config)
		sh.GenerateName, sh.Name = s.Name+"-", ""
		return sh
	}
})
