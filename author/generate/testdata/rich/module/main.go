// Plugin rich creates again what it is given: what comes back is what a plugin keeps of an object.
package main

import (
	"github.com/windlass-dev/windlass/sdk"

	richv1 "github.com/windlass-dev/windlass/author/generate/testdata/rich/v1"
)

var riches = sdk.Key(richv1.Riches).Fields("*", "metadata")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "rich", Controllers: []*sdk.Controller{{
		Name: "rich-controller", Reads: sdk.Views{riches}, Writes: sdk.Writes{richv1.Riches.Verbs("create")}, Sync: sync,
	}}})
}

func sync(c *sdk.Call) error {
	o, ok := riches.Get(c)
	if !ok {
		return nil
	}
	return c.Create(sdk.Clone(o))
}

func main() {}
