// Package quota gives each namespace the resource quota that its label asks for.
package quota

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/resource"
)

const label = "example.com/size"

// How many pods a namespace of each size may have.
var sizes = map[string]resource.Quantity{"small": {Text: "10"}, "large": {Text: "100"}}

var (
	namespaces = sdk.Key(corev1.Namespaces).Fields("metadata.labels", "metadata.deletionTimestamp")
	quotas     = sdk.Select(corev1.ResourceQuotasResource, sdk.ControlledBy(namespaces)).Fields("spec.hard")
)

// Plugin is the module.
var Plugin = &sdk.Plugin{
	Name:        "quota",
	Version:     "1.0.0",
	Description: "Gives each namespace the resource quota that its label asks for.",
	Controllers: []*sdk.Controller{{
		Name:   "quota-controller",
		Reads:  sdk.Views{namespaces, quotas},
		Writes: sdk.Writes{corev1.ResourceQuotasResource.Verbs("create", "update", "delete")},
		Sync:   sync,
	}},
}

func sync(c *sdk.Call) error {
	ns, ok := namespaces.Get(c)
	if !ok || ns.Deleting() {
		return nil
	}
	pods, wanted := sizes[ns.Labels.Get(label)]
	quota, exists := quotas.Get(c)
	switch {
	case wanted && exists:
		quota = sdk.Clone(quota)
		quota.Spec.Hard.Set("pods", pods)
		return c.Update(quota) // where nothing is changed, nothing is sent
	case wanted:
		quota = &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns.Name, Name: "size", OwnerReferences: []metav1.OwnerReference{owner.Ref(ns)},
		}}
		quota.Spec.Hard.Set("pods", pods)
		return c.Create(quota)
	case exists:
		return c.Delete(quota)
	}
	return nil
}
