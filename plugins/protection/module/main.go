// The module of the protection plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/protection"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(protection.Plugin) }

func main() {}
