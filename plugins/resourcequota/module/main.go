// The module of the resourcequota plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/resourcequota"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(resourcequota.Plugin) }

func main() {}
