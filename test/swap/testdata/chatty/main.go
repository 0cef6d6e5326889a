// Plugin chatty is a version of replicaset that logs as much as a sync may.
package main

import (
	"strings"

	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/sdk"
)

func init() {
	c := replicaset.Plugin.Controllers[0]
	sync := c.Sync
	c.Sync = func(call *sdk.Call) error {
		for range 8 {
			call.Log("chat" + strings.Repeat(".", 8000-len("chat")))
		}
		return sync(call)
	}
	sdk.Serve(replicaset.Plugin)
}

func main() {}
