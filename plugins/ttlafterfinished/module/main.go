// The module of the ttlafterfinished plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/ttlafterfinished"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(ttlafterfinished.Plugin) }

func main() {}
