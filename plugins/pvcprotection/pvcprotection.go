// Package pvcprotection keeps PersistentVolumeClaims that pods use from being deleted, and says which ones nobody uses.
//
// Every claim gets a finalizer, also one that has lost it. When the claim is deleted, the finalizer goes as soon as no
// pod that is on a node has the claim among its volumes. A claim that is bound has the condition Unused, which says
// whether any pod that hasn't ended has it, and since when.
package pvcprotection

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

const finalizer = "kubernetes.io/pvc-protection"

// tellUnused is whether claims have the condition.
var tellUnused = sdk.Gate("PersistentVolumeClaimUnusedSinceTime", true,
	"Whether bound claims have the condition Unused, which says since when no pod uses them.")

var (
	deleting  = sdk.Exists("metadata.deletionTimestamp")
	protected = sdk.In("metadata.finalizers", finalizer)
	bound     = sdk.In("status.phase", string(corev1.ClaimBound))

	// Of claims that are being deleted those are here that have the finalizer, of others those that lack it or are bound.
	claims = sdk.Select(claimKind, sdk.Any(
		sdk.All(deleting, protected),
		sdk.All(sdk.Not(deleting), sdk.Not(protected)),
		sdk.All(sdk.Not(deleting), bound))).
		Fields("metadata.deletionTimestamp", "metadata.finalizers", "status.phase", "status.conditions").
		QuietOn(abi.QuietDelete, abi.QuietOwn)
)

// Plugin is the pvcprotection module (pkg/controller/volume/pvcprotection).
var Plugin = &sdk.Plugin{
	Name:        "pvcprotection",
	Version:     "1.0.0",
	Description: "Keeps PersistentVolumeClaims that pods use from being deleted, and says which ones nobody uses.",
	Settings:    []*sdk.Setting{tellUnused},
	Controllers: []*sdk.Controller{{
		Name:           "persistentvolumeclaim-protection-controller",
		Alias:          "pvc-protection",
		Queue:          "pvcprotection",
		ServiceAccount: "pvc-protection-controller",
		Reads:          append(append(sdk.Views{claims}, keeping.views()...), using.views()...),
		Writes:         sdk.Writes{claimKind.Verbs("update"), claimKind.Sub("status", "update")},
		Workers:        1,
		Sync:           sync,
	}},
}

// sync lets a claim go that is being deleted and that nobody keeps. Of any other one it says whether somebody uses it,
// and gives it the finalizer: admission gives it to new ones, so it lacks in those that are older than admission's
// plugin, or have lost it.
func sync(c *sdk.Call) error {
	claim, ok := claims.Get(c)
	if !ok {
		return nil
	}
	changed := sdk.Clone(claim)

	if claim.Deleting() {
		if keeping.there(c, claim) || keeping.thereNow(c, claim) {
			return nil
		}
		changed.RemoveFinalizer(finalizer)
		return c.Update(changed)
	}

	if tellUnused.On(c) && claim.Status.Phase == corev1.ClaimBound {
		tellUse(c, claim)
	}
	if changed.AddFinalizer(finalizer) {
		c.Add(sdk.Update(changed))
	}
	return nil
}

// tellUse has the claim's condition say whether a pod uses it. The API server is asked only where the claim would
// become unused: that it is in use, or as unused as before, needs no proof.
func tellUse(c *sdk.Call, claim *claim) {
	claim = sdk.Clone(claim)
	told := findUnused(claim.Status.Conditions)
	unused := told != nil && told.Status == corev1.ConditionTrue
	used := using.there(c, claim) || !unused && using.thereNow(c, claim)
	if used && told != nil && !unused || !used && unused {
		return
	}

	now := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue, LastTransitionTime: c.Now().Truncate(),
		Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC",
	}
	if used {
		now.Status, now.Reason = corev1.ConditionFalse, "PodUsingPVC"
		now.Message = "A pod is currently referencing this PVC"
	}

	if told == nil {
		claim.Status.Conditions = append(claim.Status.Conditions, now)
	} else {
		*told = now
	}
	c.Add(sdk.UpdateStatus(claim))
}

// findUnused returns the condition in its place in the list, nil where there is none.
func findUnused(all []corev1.PersistentVolumeClaimCondition) *corev1.PersistentVolumeClaimCondition {
	for i := range all {
		if all[i].Type == corev1.PersistentVolumeClaimUnused {
			return &all[i]
		}
	}
	return nil
}
