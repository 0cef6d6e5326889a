// Plugin impatient is serviceaccount, and gives a key up after two tries.
package main

import (
	"github.com/windlass-dev/windlass/plugins/serviceaccount"
	"github.com/windlass-dev/windlass/sdk"
)

func init() {
	p := serviceaccount.Plugin
	p.Controllers[0].Backoff.Retries = 1
	sdk.Serve(p)
}

func main() {}
