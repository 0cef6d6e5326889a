// Package traps does what a plugin shouldn't, each thing for a key of its name.
package traps

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var (
	namespaces = sdk.Key(corev1.Namespaces).Fields("metadata.finalizers")
	pods       = sdk.Key(corev1.Pods).Fields("spec.nodeName") // not in Reads
)

// Plugin is what the module serves.
var Plugin = &sdk.Plugin{
	Name: "traps",
	Controllers: []*sdk.Controller{{
		Name:   "traps-controller",
		Reads:  sdk.Views{namespaces},
		Writes: sdk.Writes{corev1.ConfigMaps.Verbs("create")},
		Sync:   sync,
	}},
}

func sync(c *sdk.Call) error {
	switch c.Name() {
	case "panic":
		panic("no such namespace")
	case "nil":
		return dereference(c)
	case "index":
		return index(c, nil)
	case "divide":
		c.Log(string(rune(7 / len(c.State()))))
	case "assert":
		var x any = c.Name()
		c.Log(string(rune(x.(int))))
	case "view":
		_, _ = pods.Get(c)
	case "recurse":
		return recurse(c)
	}
	return nil
}

func dereference(c *sdk.Call) error {
	ns, _ := namespaces.Get(c)
	ns.Name = "other"
	return c.Update(ns)
}

func index(c *sdk.Call, list []string) error {
	c.Log(list[len(c.State())+2])
	return nil
}

func recurse(c *sdk.Call) error {
	if err := recurse(c); err != nil {
		return sdk.Errors("deeper: ", err.Error())
	}
	return nil
}
