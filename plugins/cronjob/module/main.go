// The module of the cronjob plugin.
package main

import (
	"github.com/windlass-dev/windlass/plugins/cronjob"
	"github.com/windlass-dev/windlass/sdk"
)

func init() { sdk.Serve(cronjob.Plugin) }

func main() {}
