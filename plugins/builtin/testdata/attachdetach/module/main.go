// The module of the attachdetach plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/attachdetach"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(attachdetach.Plugin) }

func main() {}
