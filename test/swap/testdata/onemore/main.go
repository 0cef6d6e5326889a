// Plugin onemore is a version of replicaset that wants one pod more.
package main

import (
	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
)

func init() {
	c := replicaset.Plugin.Controllers[0]
	sync := c.Sync
	sets := c.Reads[0].(*sdk.View[appsv1.ReplicaSet, *appsv1.ReplicaSet])
	c.Sync = func(call *sdk.Call) error {
		if set, ok := sets.Get(call); ok && set.Spec.Replicas != nil && *set.Spec.Replicas > 0 {
			*set.Spec.Replicas++
		}
		return sync(call)
	}
	sdk.Serve(replicaset.Plugin)
}

func main() {}
