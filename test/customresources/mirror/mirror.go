// Package mirror is a plugin that keeps a config map with each Mirror's message, and tells in the Mirror's status how
// that went.
package mirror

import (
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
)

const finalizer = "example.com/mirror"

var (
	mirrors = sdk.Key(Mirrors).Fields("metadata.finalizers", "metadata.deletionTimestamp", "metadata.generation",
		"spec.message", "spec.selector", "status")
	copies = sdk.Select(corev1.ConfigMaps, sdk.Join("metadata.namespace", mirrors, "metadata.namespace"),
		sdk.ControlledBy(mirrors)).
		Named("copies").Fields("metadata.name", "metadata.ownerReferences", "data")
	friends = sdk.Select(corev1.ConfigMaps, sdk.Join("metadata.namespace", mirrors, "metadata.namespace"),
		sdk.SelectedBy(mirrors, "spec.selector")).
		Named("friends").Counted(100)
)

// Plugin is the plugin.
var Plugin = &sdk.Plugin{Name: "mirror", Version: "1", Controllers: []*sdk.Controller{{
	Name: "mirror-controller", EventSource: "mirror-controller", Reads: sdk.Views{mirrors, copies, friends}, Workers: 2,
	Sync: sync,
	Writes: sdk.Writes{
		Mirrors.Verbs("update"), Mirrors.Sub("status", "update"),
		corev1.ConfigMaps.Verbs("create", "update", "delete"),
	},
}}}

func sync(c *sdk.Call) error {
	mirror, ok := mirrors.Get(c)
	if !ok {
		return nil
	}

	content, err := mirror.content()
	if err != nil {
		return err
	}
	if mirror.DeletionTimestamp != nil {
		m := sdk.Clone(mirror)
		m.RemoveFinalizer(finalizer)
		return c.Update(m)
	}

	if !mirror.HasFinalizer(finalizer) {
		m := sdk.Clone(mirror)
		m.AddFinalizer(finalizer)
		if err := c.Do(sdk.Update(m)); err != nil {
			return err
		}
		mirror = m
	}

	if all := copies.List(c); len(all) == 0 {
		m := &corev1.ConfigMap{}
		m.Namespace, m.Name = mirror.Namespace, mirror.Name
		m.OwnerReferences = []metav1.OwnerReference{owner.Ref(mirror)}
		m.Data.Set("message", content.Spec.Message)
		c.Add(sdk.Create(m))
		c.Event(mirror, "Normal", "Copied", "has a config map now")
	} else if all[0].Data.Get("message") != content.Spec.Message {
		m := sdk.Clone(all[0])
		m.Data.Set("message", content.Spec.Message)
		c.Add(sdk.Update(m))
	}

	status := &content.Status
	status.Friends, status.Copied, status.ObservedGeneration = int32(friends.Count(c)), content.Spec.Message,
		mirror.Generation
	if len(status.Conditions) == 0 {
		status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Copied", LastTransitionTime: c.Now()}}
	}
	return c.UpdateStatus(mirror.withContent(content))
}
