package replicas

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// observe is the status that the pods and the outcome of scaling them amount to.
func (s *Set) observe(c *sdk.Call, generation int64, active []*corev1.Pod, terminating int,
	failure error) appsv1.ReplicaSetStatus {
	status := *s.Status // with what of it nobody here knows
	status.ObservedGeneration = generation
	status.Replicas, status.FullyLabeledReplicas = int32(len(active)), 0
	status.ReadyReplicas, status.AvailableReplicas = 0, 0

	for _, p := range active {
		if labels.Subset(s.Spec.Template.Labels, p.Labels) {
			status.FullyLabeledReplicas++
		}
		if pod.Ready(p) {
			status.ReadyReplicas++
		}
		if pod.Available(p, s.Spec.MinReadySeconds, c.Now()) {
			status.AvailableReplicas++
		}
	}

	status.TerminatingReplicas = nil
	if s.Terminating {
		n := int32(terminating)
		status.TerminatingReplicas = &n
	}
	status.Conditions = s.conditions(c, active, failure)
	return status
}

// conditions adds ReplicaFailure with the first failure, which stays as it is until there is none.
func (s *Set) conditions(c *sdk.Call, active []*corev1.Pod, failure error) []appsv1.ReplicaSetCondition {
	var others []appsv1.ReplicaSetCondition
	for i := range s.Status.Conditions {
		if x := &s.Status.Conditions[i]; x.Type != appsv1.ReplicaSetReplicaFailure {
			others = append(others, *x)
		}
	}

	switch failed := len(others) < len(s.Status.Conditions); {
	case failure == nil:
		return others
	case failed:
		return s.Status.Conditions
	}
	reason := pod.FailedCreate
	if s.excessPods(active) > 0 {
		reason = pod.FailedDelete
	}
	return append(others, appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: c.Now(), Reason: reason,
		Message: failure.Error(),
	})
}

// sameStatus compares what observe sets. Conditions are only added and removed.
func sameStatus(a, b *appsv1.ReplicaSetStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration &&
		a.Replicas == b.Replicas && a.FullyLabeledReplicas == b.FullyLabeledReplicas && a.ReadyReplicas == b.ReadyReplicas &&
		a.AvailableReplicas == b.AvailableReplicas &&
		(a.TerminatingReplicas == nil && b.TerminatingReplicas == nil ||
			a.TerminatingReplicas != nil && b.TerminatingReplicas != nil && *a.TerminatingReplicas == *b.TerminatingReplicas) &&
		len(a.Conditions) == len(b.Conditions)
}
