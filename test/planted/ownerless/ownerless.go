// Package ownerless has a mistake: it makes shards without an owner reference: nobody deletes them with their set.
package ownerless

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Shards = sdk.Select(corev1.ConfigMaps, sdk.KeyNamespace(),
		sdk.Join("metadata.labels["+correct.SetLabel+"]", p.Sets, "metadata.uid")).Named("shards").
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences",
			"data")
	made := p.New
	p.New = func(c *sdk.Call, s *correct.Set, index int, config metav1.StringMap) *correct.Shard {
		sh := made(c, s, index, config)
		sh.OwnerReferences = nil
		return sh
	}
})
