// Plugin restless changes its object in each sync, and is woken by the change.
package main

import (
	"strconv"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var victims = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "restless")).Fields("metadata.name",
	"data")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "restless", Version: "1", Controllers: []*sdk.Controller{
		{Name: "restless-controller", Reads: sdk.Views{victims}, Writes: sdk.Writes{corev1.ConfigMaps.Verbs("update")},
			Workers: 1, Sync: sync},
	}})
}

func sync(c *sdk.Call) error {
	m, ok := victims.Get(c)
	if !ok {
		return nil
	}
	n, _ := strconv.Atoi(m.Data.Get("n"))
	m = sdk.Clone(m)
	m.Data.Set("n", strconv.Itoa(n+1))
	return c.Update(m)
}

func main() {}
