// Package website is the controller of docs/custom-resources.md.
package website

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/conditions"
	"github.com/windlass-dev/windlass/sdk/owner"

	webv1 "github.com/windlass-dev/windlass/test/docs/customresources/v1"
)

var (
	sites = sdk.Key(webv1.Websites).Fields("metadata", "spec.title", "status")
	pages = sdk.Select(corev1.ConfigMaps, sdk.Join("metadata.namespace", sites, "metadata.namespace"),
		sdk.ControlledBy(sites)).Fields("metadata.name")
)

// Plugin serves websites.
var Plugin = &sdk.Plugin{Name: "website", Controllers: []*sdk.Controller{{
	Name:  "website-controller",
	Reads: sdk.Views{sites, pages},
	Writes: sdk.Writes{
		webv1.Websites.Verbs("update"),
		webv1.Websites.Sub("status", "update"),
		corev1.ConfigMaps.Verbs("create", "patch"),
	},
	Sync: sync,
}}}

const finalizer = "example.com/website"

func sync(c *sdk.Call) error {
	shared, ok := sites.Get(c)
	if !ok {
		return nil
	}

	site := sdk.Clone(shared)
	if site.Deleting() {
		// Clean up what no owner reference leads to; then let go.
		site.RemoveFinalizer(finalizer)
		return c.Update(site)
	}
	if site.AddFinalizer(finalizer) {
		return c.Update(site)
	}

	page := &corev1.ConfigMap{}
	page.Namespace, page.Name = site.Namespace, site.Name
	page.Data.Set("index.html", "<h1>"+site.Spec.Title+"</h1>")
	if err := owner.SetController(page, site); err != nil {
		return err
	}
	c.Add(sdk.Apply(page))

	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NoPage",
		ObservedGeneration: site.Generation}
	if len(pages.List(c)) > 0 {
		ready.Status, ready.Reason = metav1.ConditionTrue, "Served"
	}
	conditions.Set(&site.Status.Conditions, ready, c.Now())
	site.Status.ObservedGeneration = site.Generation
	return c.UpdateStatus(site)
}
