// The module of the replicaset plugin.
package main

import (
	"github.com/windlass-dev/windlass/sdk"

	"example.com/replicaset"
)

func init() { sdk.Serve(replicaset.Plugin) }

func main() {}
