// The module of the endpoints plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/endpoints"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(endpoints.Plugin) }

func main() {}
