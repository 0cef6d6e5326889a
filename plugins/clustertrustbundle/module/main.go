// The module of the clustertrustbundle plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/clustertrustbundle"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(clustertrustbundle.Plugin) }

func main() {}
