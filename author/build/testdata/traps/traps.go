// Package traps does what a plugin shouldn't, each thing for a key of its name.
package traps

import (
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
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
		Writes: sdk.Writes{corev1.ConfigMaps.Verbs("create", "update")},
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
	case "answer":
		return answer(c)
	case "large":
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "whole"}}
		m.Data.Set("text", strings.Repeat("much ", 500_000))
		c.Event(m, "Normal", "Growing", "it grows")
		return c.Update(m)
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

func answer(c *sdk.Call) error {
	for n := 0; ; n++ {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Name(), Name: "part-" + strconv.Itoa(n)}}
		m.Data.Set("text", strings.Repeat("much ", 200_000))
		c.Add(sdk.Create(m))
	}
}

func recurse(c *sdk.Call) error {
	if err := recurse(c); err != nil {
		return sdk.Errors("deeper: ", err.Error())
	}
	return nil
}
