// The module of the quota plugin.
package main

import (
	"github.com/windlass-dev/windlass/sdk"

	quota "github.com/windlass-dev/windlass/examples/migrating/windlass"
)

func init() { sdk.Serve(quota.Plugin) }

func main() {}
