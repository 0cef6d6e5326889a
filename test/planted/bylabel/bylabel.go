// Package bylabel has a mistake: it takes for its own whatever bears its label in the namespace, whoever owns it.
package bylabel

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Shards = sdk.Select(corev1.ConfigMaps, sdk.KeyNamespace(),
		sdk.Join("metadata.labels["+correct.SetLabel+"]", p.Sets, "metadata.uid")).Named("shards").
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences",
			"data")
})
