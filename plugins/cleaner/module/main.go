// The module of the cleaner plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/cleaner"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(cleaner.Plugin) }

func main() {}
