// The module of the serviceaccount plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/serviceaccount"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(serviceaccount.Plugin) }

func main() {}
