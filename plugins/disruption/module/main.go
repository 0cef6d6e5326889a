// The module of the disruption plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/disruption"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(disruption.Plugin) }

func main() {}
