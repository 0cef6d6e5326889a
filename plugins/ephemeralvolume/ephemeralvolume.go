// Package ephemeralvolume makes the claims of pods' ephemeral volumes.
//
// For each ephemeral volume of a pod a PersistentVolumeClaim of the volume's template is made, which the pod owns, so
// that it goes with the pod. A claim of that name that belongs to somebody else is told of by an event, and left alone.
package ephemeralvolume

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/owner"
)

var (
	// The volumes of a pod never change. Its end has the host forget which claims its key has asked for.
	pods = sdk.Select(corev1.Pods, sdk.Exists("spec.volumes.ephemeral")).
		Fields("metadata.deletionTimestamp", "spec.volumes.name", "spec.volumes.ephemeral").QuietOn(abi.QuietUpdate)
	claims = sdk.Select(corev1.PersistentVolumeClaims, sdk.KeyNamespace()).
		Fields("metadata.ownerReferences.uid", "metadata.ownerReferences.controller").
		Lazy().QuietOn(abi.QuietAdd, abi.QuietUpdate)

	creates = sdk.Counter("ephemeral_volume_controller_create_total",
		"[ALPHA] Number of PersistentVolumeClaim creation requests")
	failures = sdk.Counter("ephemeral_volume_controller_create_failures_total",
		"[ALPHA] Number of PersistentVolumeClaim creation requests")
)

// Plugin is the ephemeralvolume module (pkg/controller/volume/ephemeral).
var Plugin = &sdk.Plugin{
	Name:        "ephemeralvolume",
	Version:     "1.0.0",
	Description: "Makes the PersistentVolumeClaims of pods' ephemeral volumes.",
	Metrics:     []*sdk.Metric{creates, failures},
	Controllers: []*sdk.Controller{{
		Name:           "ephemeral-volume-controller",
		Alias:          "ephemeral-volume",
		Queue:          "ephemeral_volume",
		ServiceAccount: "ephemeral-volume-controller",
		EventSource:    "ephemeral_volume",
		Reads:          sdk.Views{pods, claims},
		Writes:         sdk.Writes{corev1.PersistentVolumeClaims.Verbs("create"), corev1.Pods.Sub("finalizers", "update")},
		Workers:        5,
		Sync:           sync,
	}},
}

// sync makes the claims that there aren't yet. A claim of the same name that isn't the pod's is in the way, until
// somebody deletes it: the first volume that can't have its claim ends the sync.
func sync(c *sdk.Call) error {
	pod, ok := pods.Get(c)
	if !ok || pod.Deleting() {
		return nil
	}

	there := claimsOf(c, pod)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil {
			continue
		}
		if err := provide(c, pod, v, there); err != nil {
			text := "ephemeral volume " + v.Name + ": " + err.Error()
			c.Event(pod, corev1.EventTypeWarning, "FailedBinding", text)
			return sdk.Errors("pod ", pod.Namespace, "/", pod.Name, ", ", text)
		}
	}
	return nil
}

// claimsOf returns the claims that have the names of the pod's.
func claimsOf(c *sdk.Call, pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	var names []string
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Ephemeral != nil {
			names = append(names, claimName(pod, v))
		}
	}
	return claims.Ask(c, abi.Ask{Namespace: pod.Namespace, Names: names})
}

func claimName(pod *corev1.Pod, v *corev1.Volume) string { return pod.Name + "-" + v.Name }

// provide makes the claim of a volume, if it isn't there.
func provide(c *sdk.Call, pod *corev1.Pod, v *corev1.Volume, there []*corev1.PersistentVolumeClaim) error {
	name := claimName(pod, v)
	for _, claim := range there {
		if claim.Name != name {
			continue
		}
		if !metav1.IsControlledBy(&claim.ObjectMeta, &pod.ObjectMeta) {
			return sdk.Errors("PVC ", pod.Namespace, "/", name, " was not created for pod ", pod.Namespace, "/", pod.Name,
				" (pod is not owner)")
		}
		return nil
	}

	template := v.Ephemeral.VolumeClaimTemplate
	claim := &corev1.PersistentVolumeClaim{Spec: template.Spec}
	claim.Namespace, claim.Name = pod.Namespace, name
	claim.Labels, claim.Annotations = template.Labels, template.Annotations
	claim.OwnerReferences = []metav1.OwnerReference{owner.Ref(pod)}
	creates.Add(c, 1)
	if err := c.Do(sdk.Create(claim)); err != nil {
		failures.Add(c, 1)
		return sdk.Errors("create PVC ", name, ": ", err.Error())
	}
	failures.Add(c, 0) // which is told also while there is none
	return nil
}
