// The module of the replicaset plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/replicaset"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(replicaset.Plugin) }

func main() {}
