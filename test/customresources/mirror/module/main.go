// The module of the mirror plugin.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/customresources/mirror"
)

func init() { sdk.Serve(mirror.Plugin) }

func main() {}
