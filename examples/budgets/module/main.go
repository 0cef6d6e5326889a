// The module of the budgets plugin.
package main

import (
	"github.com/windlass-dev/windlass/sdk"

	"example.com/budgets"
)

func init() { sdk.Serve(budgets.Plugin) }

func main() {}
