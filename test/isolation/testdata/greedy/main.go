// Plugin greedy asks for memory until it is refused.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var victims = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "greedy")).Fields("metadata.name")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "greedy", Version: "1", Controllers: []*sdk.Controller{
		{Name: "greedy-controller", Reads: sdk.Views{victims}, Workers: 1, Sync: sync},
	}})
}

var hoard [][]byte

func sync(c *sdk.Call) error {
	if _, ok := victims.Get(c); !ok {
		return nil
	}
	for {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		hoard = append(hoard, block)
	}
}

func main() {}
