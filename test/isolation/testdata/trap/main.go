// Plugin trap reads past the end of a slice.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var victims = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "trap")).Fields("metadata.name")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "trap", Version: "1", Controllers: []*sdk.Controller{
		{Name: "trap-controller", Reads: sdk.Views{victims}, Workers: 1, Sync: sync},
	}})
}

func sync(c *sdk.Call) error {
	objects := victims.List(c)
	if len(objects) == 0 {
		return nil
	}
	c.SetState([]byte(objects[len(objects)+len(c.Name())].Name))
	return nil
}

func main() {}
