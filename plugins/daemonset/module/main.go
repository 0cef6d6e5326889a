// The module of the daemonset plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/daemonset"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(daemonset.Plugin) }

func main() {}
