// Plugin overreach creates a service account, which its manifest declares, then a config map, which it doesn't: one
// controller in its answer, one in the middle of a sync.
package main

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	answered  = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]", "overreach")).Fields("metadata.name")
	performed = sdk.Select(corev1.ConfigMaps, sdk.In("metadata.labels[hostile]",
		"overreach-performing")).Fields("metadata.name")
)

func init() {
	writes := sdk.Writes{corev1.ServiceAccounts.Verbs("create")}
	sdk.Serve(&sdk.Plugin{Name: "overreach", Version: "1", Controllers: []*sdk.Controller{
		{Name: "overreach-controller", Reads: sdk.Views{answered}, Writes: writes, Workers: 1, Sync: func(c *sdk.Call) error {
			if _, ok := answered.Get(c); ok {
				c.Add(effects(c)...)
			}
			return nil
		}},
		{Name: "overreach-performing-controller", Reads: sdk.Views{performed}, Writes: writes, Workers: 1,
			Sync: func(c *sdk.Call) error {
				if _, ok := performed.Get(c); ok {
					_, err := c.DoAll(effects(c)...)
					return err
				}
				return nil
			}},
	}})
}

func effects(c *sdk.Call) []sdk.Effect {
	account, loot := &corev1.ServiceAccount{}, &corev1.ConfigMap{}
	account.Namespace, account.Name = c.Namespace(), c.Name()
	loot.Namespace, loot.Name = c.Namespace(), c.Name()+"-loot"
	return []sdk.Effect{sdk.Create(account), sdk.Create(loot)}
}

func main() {}
