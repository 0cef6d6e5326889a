// The module of the tainteviction plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/tainteviction"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(tainteviction.Plugin) }

func main() {}
