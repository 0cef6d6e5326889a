// The module of the csrapproving plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/csrapproving"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(csrapproving.Plugin) }

func main() {}
