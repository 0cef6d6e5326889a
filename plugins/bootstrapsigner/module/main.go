// The module of the bootstrapsigner plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/bootstrapsigner"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(bootstrapsigner.Plugin) }

func main() {}
