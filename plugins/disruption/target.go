package disruption

import (
	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// targets are pods that are said to be about to be disrupted, and that nobody has deleted yet. A kubelet takes its
// time, and of a pod that has ended it doesn't matter.
var targets = sdk.Select(targetKind,
	sdk.Each("status.conditions", sdk.In("type", string(corev1.DisruptionTarget)),
		sdk.In("status", string(corev1.ConditionTrue)), sdk.Not(sdk.In("reason", corev1.PodReasonTerminationByKubelet))),
	sdk.Not(sdk.Exists("metadata.deletionTimestamp")),
	sdk.Not(sdk.In("status.phase", string(corev1.PodSucceeded), string(corev1.PodFailed)))).
	Fields("metadata.generation", "status.conditions").
	Quiet("metadata.generation").QuietOn(abi.QuietOwn)

// syncTarget says of a pod that it isn't about to be disrupted, where it was said for too long.
func syncTarget(c *sdk.Call) error {
	seen, ok := targets.Get(c)
	if !ok {
		return nil
	}

	pod := sdk.Clone(seen)
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != corev1.DisruptionTarget {
			continue
		}
		if wait := condition.LastTransitionTime.Add(patience).Sub(c.Now()); wait > 0 {
			return c.After(wait)
		}
		*condition = corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse,
			LastTransitionTime: c.Now().Truncate(), ObservedGeneration: pod.Generation}
		return c.UpdateStatus(pod)
	}
	return nil
}
