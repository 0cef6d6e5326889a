// The module of the garbagecollector plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/garbagecollector"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(garbagecollector.Plugin) }

func main() {}
