// The module of the servicecidr plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/servicecidr"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(servicecidr.Plugin) }

func main() {}
