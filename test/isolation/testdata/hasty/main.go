// Plugin hasty does nothing, and asks for its next sync at once.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var victims = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "hasty")).Fields("metadata.name")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "hasty", Version: "1", Controllers: []*sdk.Controller{
		{Name: "hasty-controller", Reads: sdk.Views{victims}, Workers: 1,
			Sync: func(c *sdk.Call) error { return c.After(1) }},
	}})
}

func main() {}
