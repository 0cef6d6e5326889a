// The module of docs/custom-resources.md's controller.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	website "github.com/windlass-dev/windlass/test/docs/customresources"
)

func init() { sdk.Serve(website.Plugin) }

func main() {}
