// The module of the endpointslicemirroring plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/endpointslicemirroring"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(endpointslicemirroring.Plugin) }

func main() {}
