// The module of the deployment plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/deployment"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(deployment.Plugin) }

func main() {}
