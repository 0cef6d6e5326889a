// Plugin loop never ends a sync, several at a time.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var victims = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "loop")).Fields("metadata.name")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "loop", Version: "1", Controllers: []*sdk.Controller{
		{Name: "loop-controller", Reads: sdk.Views{victims}, Workers: 8, Sync: sync},
	}})
}

var turns uint64

func sync(c *sdk.Call) error {
	if _, ok := victims.Get(c); !ok {
		return nil
	}
	for {
		turns = turns*6364136223846793005 + 1
	}
}

func main() {}
