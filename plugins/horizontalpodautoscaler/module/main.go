// The module of the horizontalpodautoscaler plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/horizontalpodautoscaler"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(horizontalpodautoscaler.Plugin) }

func main() {}
