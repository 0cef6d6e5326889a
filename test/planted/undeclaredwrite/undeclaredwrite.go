// Package undeclaredwrite has a mistake: it deletes shards without having declared that it does.
package undeclaredwrite

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = correct.New(func(p *correct.Parts) {
	p.Writes[2] = corev1.ConfigMaps.Verbs("create", "update")
})
