// The module of the quota plugin.
package main

import (
	"github.com/windlass-dev/windlass/sdk"

	"example.com/quota"
)

func init() { sdk.Serve(quota.Plugin) }

func main() {}
