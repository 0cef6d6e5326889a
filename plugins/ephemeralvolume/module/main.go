// The module of the ephemeralvolume plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/ephemeralvolume"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(ephemeralvolume.Plugin) }

func main() {}
