// The module of the endpointslice plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/endpointslice"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(endpointslice.Plugin) }

func main() {}
