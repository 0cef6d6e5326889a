// The module of the statefulset plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/statefulset"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(statefulset.Plugin) }

func main() {}
