// The module of the pvcprotection plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/pvcprotection"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(pvcprotection.Plugin) }

func main() {}
