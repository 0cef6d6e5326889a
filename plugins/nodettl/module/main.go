// The module of the nodettl plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/nodettl"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(nodettl.Plugin) }

func main() {}
