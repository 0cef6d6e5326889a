// The module of the clusterroleaggregation plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/clusterroleaggregation"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(clusterroleaggregation.Plugin) }

func main() {}
