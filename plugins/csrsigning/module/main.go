// The module of the csrsigning plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/csrsigning"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(csrsigning.Plugin) }

func main() {}
