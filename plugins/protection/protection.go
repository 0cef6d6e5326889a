// Package protection keeps what is in use from being deleted, by finalizers.
//
// Every object gets a finalizer, also one that has lost it. When the object is deleted, the finalizer goes as soon
// as nobody uses the object: a PersistentVolume when it is not bound to a claim, a VolumeAttributesClass when no claim
// and no volume names it.
package protection

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

const (
	volumeFinalizer = "kubernetes.io/pv-protection"
	classFinalizer  = "kubernetes.io/vac-protection"
)

var (
	volumes = sdk.Select(volumeKind, unsettled(volumeFinalizer)).
		Fields("metadata.deletionTimestamp", "metadata.finalizers", "status.phase").
		QuietOn(abi.QuietDelete, abi.QuietOwn)

	classes = sdk.Select(classKind, unsettled(classFinalizer)).
		Fields("metadata.deletionTimestamp", "metadata.finalizers").
		QuietOn(abi.QuietDelete, abi.QuietOwn)
	classClaims = sdk.Select(resource.MetadataOf("", "v1", "persistentvolumeclaims"), sdk.Any(
		namesClass("spec.volumeAttributesClassName"),
		namesClass("status.currentVolumeAttributesClassName"),
		namesClass("status.modifyVolumeStatus.targetVolumeAttributesClassName"))).
		When(sdk.On(classes, sdk.Exists("metadata.deletionTimestamp"))).Counted(1).QuietOn(abi.QuietAdd)
	classVolumes = sdk.Select(volumeKind, namesClass("spec.volumeAttributesClassName")).
			When(sdk.On(classes, sdk.Exists("metadata.deletionTimestamp"))).Counted(1).QuietOn(abi.QuietAdd)
)

// unsettled chooses the objects that want their finalizer, and those that have it and are being deleted.
func unsettled(finalizer string) sdk.Condition {
	deleting, protected := sdk.Exists("metadata.deletionTimestamp"), sdk.In("metadata.finalizers", finalizer)
	return sdk.Any(sdk.All(sdk.Not(deleting), sdk.Not(protected)), sdk.All(deleting, protected))
}

// namesClass chooses the objects that name the key's class there. Those that name none aren't kept.
func namesClass(path string) sdk.Condition { return sdk.All(sdk.Exists(path), sdk.KeyName(path)) }

// Plugin is the protection module (pkg/controller/volume/pvprotection, pkg/controller/volume/vacprotection).
var Plugin = &sdk.Plugin{
	Name:        "protection",
	Version:     "1.0.0",
	Description: "Keeps PersistentVolumes and VolumeAttributesClasses that are in use from being deleted.",
	Controllers: []*sdk.Controller{{
		Name:           "persistentvolume-protection-controller",
		Alias:          "pv-protection",
		Queue:          "pvprotection",
		ServiceAccount: "pv-protection-controller",
		Reads:          sdk.Views{volumes},
		Writes:         sdk.Writes{volumeKind.Verbs("update")},
		Workers:        1,
		Sync:           protect(volumes, volumeFinalizer, isBound),
	}, {
		Name:           "volumeattributesclass-protection-controller",
		Queue:          "vacprotection",
		ServiceAccount: "volumeattributesclass-protection-controller",
		Reads:          sdk.Views{classes, classClaims, classVolumes},
		Writes:         sdk.Writes{classKind.Verbs("update")},
		Workers:        1,
		Sync:           protect(classes, classFinalizer, isNamed),
	}},
}

// protect returns the sync of objects that are to have the finalizer until they are being deleted and not in use.
// Admission gives it to new ones; here those get it that are older than admission's plugin, or have lost it.
func protect[T any, P resource.Pointer[T]](objects *sdk.View[T, P], finalizer string,
	inUse func(*sdk.Call, P) bool) func(*sdk.Call) error {
	return func(c *sdk.Call) error {
		o, ok := objects.Get(c)
		if !ok {
			return nil
		}

		deleting := o.GetObjectMeta().Deleting()
		if deleting && inUse(c, o) {
			return nil
		}

		o = sdk.Clone(o)
		if deleting {
			o.GetObjectMeta().RemoveFinalizer(finalizer)
		} else {
			o.GetObjectMeta().AddFinalizer(finalizer)
		}
		return c.Update(o)
	}
}

// isBound reports whether the volume is bound to a claim, as the binder's status has it.
func isBound(_ *sdk.Call, v *volume) bool { return v.Status.Phase == corev1.VolumeBound }

// isNamed reports whether a claim or a volume names the class.
func isNamed(c *sdk.Call, _ *class) bool {
	return classClaims.Count(c) > 0 || classVolumes.Count(c) > 0
}
