// Package attachdetach is what TestAnotherController adds to a copy of the tree: a controller as small as can be, under
// a name of upstream's that no plugin has yet.
package attachdetach

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	nodes = sdk.Key(corev1.Nodes).Fields("status.volumesAttached")

	// period is what one of upstream's flags says.
	period = &sdk.Setting{Name: "attach-detach-reconcile-sync-period", Default: "1m0s",
		Description: "How long nothing is done."}

	detached = sdk.Counter("attachdetach_controller_detached_total", "How many volumes were taken off nodes.")
)

// Plugin is the module.
var Plugin = &sdk.Plugin{
	Name:        "attachdetach",
	Version:     "1.0.0",
	Description: "Takes all volumes off all nodes.",
	Settings:    []*sdk.Setting{period},
	Metrics:     []*sdk.Metric{detached},
	Controllers: []*sdk.Controller{{
		Name:           "persistentvolume-attach-detach-controller",
		Alias:          "attachdetach",
		Queue:          "attachdetach",
		ServiceAccount: "attachdetach-controller",
		Reads:          sdk.Views{nodes},
		Writes:         sdk.Writes{corev1.Nodes.Sub("status", "update")},
		Workers:        1,
		Sync:           sync,
	}},
}

func sync(c *sdk.Call) error {
	n, ok := nodes.Get(c)
	if !ok || len(n.Status.VolumesAttached) == 0 {
		return nil
	}

	detached.Add(c, float64(len(n.Status.VolumesAttached)))
	n = sdk.Clone(n)
	n.Status.VolumesAttached = nil
	return c.UpdateStatus(n)
}
