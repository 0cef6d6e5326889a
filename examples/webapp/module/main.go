// The module of the webapp plugin.
package main

import (
	"github.com/windlass-dev/windlass/sdk"

	"example.com/webapp"
)

func init() { sdk.Serve(webapp.Plugin) }

func main() {}
