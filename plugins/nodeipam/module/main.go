// The module of the nodeipam plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/nodeipam"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(nodeipam.Plugin) }

func main() {}
