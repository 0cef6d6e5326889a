// Plugin halfway creates a service account, as it may, and then traps.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var victims = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "halfway")).Fields("metadata.name")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "halfway", Version: "1", Controllers: []*sdk.Controller{
		{Name: "halfway-controller", Reads: sdk.Views{victims}, Writes: sdk.Writes{corev1.ServiceAccounts.Verbs("create")},
			Workers: 1, Sync: sync},
	}})
}

func sync(c *sdk.Call) error {
	if _, ok := victims.Get(c); !ok {
		return nil
	}
	account := &corev1.ServiceAccount{}
	account.Namespace, account.GenerateName = c.Namespace(), c.Name()+"-"
	if err := c.Do(sdk.Create(account)); err != nil {
		return err
	}
	panic("halfway")
}

func main() {}
