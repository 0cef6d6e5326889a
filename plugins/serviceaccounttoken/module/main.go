// The module of the serviceaccounttoken plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/serviceaccounttoken"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(serviceaccounttoken.Plugin) }

func main() {}
