// Plugin halfway is a version of replicaset that looks at each of two sets, and then makes a pod for the one and traps
// at the other.
package main

import (
	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
)

func init() {
	replicaset.Plugin.Version = "halfway"
	replicaset.Plugin.Controllers[0].Sync = func(c *sdk.Call) error {
		set, err := sdk.Get(c, appsv1.ReplicaSets, c.Namespace(), c.Name())
		if err != nil {
			return err
		}
		if set.Name == "trap" {
			var nowhere *sdk.Plugin
			c.Log(nowhere.Name)
		}
		c.Add(sdk.Create(pod.New(set, &set.Spec.Template)))
		return nil
	}
	sdk.Serve(replicaset.Plugin)
}

func main() {}
