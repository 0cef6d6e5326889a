// Plugin broken is a version of replicaset that traps.
package main

import (
	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/sdk"
)

func init() {
	replicaset.Plugin.Version = "broken"
	replicaset.Plugin.Controllers[0].Sync = func(c *sdk.Call) error {
		var nowhere *sdk.Plugin
		c.Log(nowhere.Name)
		return nil
	}
	sdk.Serve(replicaset.Plugin)
}

func main() {}
