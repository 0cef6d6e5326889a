// The module of the rootca plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/rootca"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(rootca.Plugin) }

func main() {}
