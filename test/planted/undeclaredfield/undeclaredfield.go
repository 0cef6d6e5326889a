// Package undeclaredfield has a mistake: it reads spec.minReadySeconds and does not declare it, so that it is always 0.
package undeclaredfield

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	*p.Sets = *sdk.Key(appsv1.ReplicaSets).
		Fields("metadata.generation", "metadata.deletionTimestamp", "metadata.finalizers",
			"metadata.annotations["+correct.ConfigAnnotation+"]", "spec.replicas", "status")
})
