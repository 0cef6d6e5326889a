// Plugin secretive reads a secret's data, keeps it in its state, spreads it, logs it and fails: nothing that the host
// writes of that may have it.
package main

import (
	"errors"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var secrets = sdk.Key(corev1.Secrets).Fields("metadata.labels", "data")

func init() {
	sdk.Serve(&sdk.Plugin{Name: "secretive", Version: "1", Controllers: []*sdk.Controller{
		{Name: "secretive-controller", Reads: sdk.Views{secrets},
			Writes: sdk.Writes{corev1.ConfigMaps.Verbs("create"), corev1.Secrets.Verbs("get")}, State: true, Workers: 1,
			Sync: sync},
	}})
}

func sync(c *sdk.Call) error {
	secret, ok := secrets.Get(c)
	if !ok || secret.Labels.Get("spread") == "" {
		return nil
	}
	value := secret.Data.Get("password")
	c.SetState(value)
	spread := &corev1.ConfigMap{}
	spread.Namespace, spread.GenerateName = c.Namespace(), c.Name()+"-"
	spread.Data.Set("copy", "it is "+string(value))
	if err := c.Do(sdk.Create(spread)); err != nil {
		return err
	}
	c.Log("I have read " + string(value))
	return errors.New("the password is " + string(value))
}

func main() {}
