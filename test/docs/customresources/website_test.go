package website

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/sdk/conditions"
	"github.com/windlass-dev/windlass/sdk/resource"
	webv1 "github.com/windlass-dev/windlass/test/docs/customresources/v1"
)

func call(t *testing.T, site *webv1.Website, children int) *abi.SyncResponse {
	t.Helper()
	Plugin.Manifest() // numbers the views
	r := &abi.SyncRequest{Key: abi.KeyRef{Namespace: site.Namespace, Name: site.Name}, Now: 5e9,
		Views: []abi.ViewData{{Objects: []abi.ObjectData{{Data: resource.Append(nil, site), ResourceVersion: "7"}}},
			{Objects: make([]abi.ObjectData, children)}}}
	a := sdk.Run(Plugin, r, &sdk.Settings{}, nil)
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	return a
}

func TestSync(t *testing.T) {
	site := &webv1.Website{Spec: webv1.WebsiteSpec{Title: "Hello"}}
	site.Namespace, site.Name, site.UID, site.Generation = "default", "hello", "u1", 3
	if a := call(t, site, 0); len(a.Effects) != 1 || a.Effects[0].Kind != abi.EffectUpdate ||
		a.Effects[0].Subresource != "" {
		t.Fatalf("without the finalizer: %+v", a.Effects)
	}

	site.AddFinalizer(finalizer)
	a := call(t, site, 1)
	if len(a.Effects) != 2 || a.Effects[0].Kind != abi.EffectApply || a.Effects[0].Resource != "v1/configmaps" ||
		a.Effects[1].Subresource != "status" || a.Effects[1].Version != "7" {
		t.Fatalf("with the finalizer: %+v", a.Effects)
	}

	var written webv1.Website
	if err := resource.Decode(a.Effects[1].Object, &written); err != nil {
		t.Fatal(err)
	}

	ready := conditions.Find(written.Status.Conditions, "Ready")
	if written.Status.ObservedGeneration != 3 || ready == nil || !conditions.IsTrue(written.Status.Conditions, "Ready") ||
		ready.LastTransitionTime.Unix() != 5 {
		t.Errorf("status: %+v", written.Status)
	}
	now := sdk.Deref(&ready.LastTransitionTime, ready.LastTransitionTime)
	site.DeletionTimestamp = &now
	if a := call(t, site, 1); len(a.Effects) != 1 || strings.Contains(string(a.Effects[0].Object), finalizer) {
		t.Errorf("when it is deleted: %+v", a.Effects)
	}
}
