// The module of the namespace plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/namespace"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(namespace.Plugin) }

func main() {}
