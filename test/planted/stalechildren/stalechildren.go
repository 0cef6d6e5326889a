// Package stalechildren has a mistake: its second controller has each shard make a further one while it sees too few of
// them. A key waits for its own writes alone, so two keys that see the same old shards both make one, and then there
// are too many.
package stalechildren

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/test/planted/correct"
)

// Plugin is the plugin with the mistake.
var Plugin = func() *sdk.Plugin {
	var parts *correct.Parts
	plugin := correct.New(func(p *correct.Parts) {
		parts = p
		p.Spread = func(c *sdk.Call, s *correct.Set, shards []*correct.Shard, config metav1.StringMap) error {
			if len(shards) == 0 && p.Wanted(s) > 0 {
				c.Add(sdk.Create(p.New(c, s, 0, config)))
			}
			return nil
		}
	})
	shards := sdk.Key(corev1.ConfigMaps).Fields("metadata.labels", "metadata.ownerReferences", "data")
	sets := sdk.Select(appsv1.ReplicaSets, sdk.KeyNamespace(),
		sdk.Join("metadata.uid", shards, "controller.uid")).Fields("metadata.deletionTimestamp", "spec.replicas")
	siblings := sdk.Select(corev1.ConfigMaps, sdk.KeyNamespace(), sdk.ControlledBy(sets)).Named("siblings")
	plugin.Controllers = append(plugin.Controllers, &sdk.Controller{
		Name: "siblings-controller", Reads: sdk.Views{shards, sets, siblings},
		Writes: sdk.Writes{corev1.ConfigMaps.Verbs("create")},
		Sync: func(c *sdk.Call) error {
			s, ok := sets.Get(c)
			if n := len(siblings.List(c)); ok && !s.Deleting() && n < parts.Wanted(s) {
				sh := parts.New(c, s, n, nil)
				sh.GenerateName, sh.Name = s.Name+"-", ""
				c.Add(sdk.Create(sh))
			}
			return nil
		},
	})
	return plugin
}()
