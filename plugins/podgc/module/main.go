// The module of the podgc plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/podgc"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(podgc.Plugin) }

func main() {}
