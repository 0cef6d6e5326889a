package replicas

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// observe is the status that the pods and the outcome of scaling them amount to.
func observe(c *sdk.Call, rs *appsv1.ReplicaSet, active []*corev1.Pod, terminating int,
	failure error) appsv1.ReplicaSetStatus {
	s := rs.Status // with what of it nobody here knows
	s.ObservedGeneration = rs.Generation
	s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas = int32(len(active)), 0, 0, 0
	for _, p := range active {
		if labels.Subset(rs.Spec.Template.Labels, p.Labels) {
			s.FullyLabeledReplicas++
		}
		if pod.Ready(p) {
			s.ReadyReplicas++
		}
		if pod.Available(p, rs.Spec.MinReadySeconds, c.Now()) {
			s.AvailableReplicas++
		}
	}
	s.TerminatingReplicas = nil
	if Terminating.On(c) {
		n := int32(terminating)
		s.TerminatingReplicas = &n
	}
	s.Conditions = conditions(c, rs, active, failure)
	return s
}

// conditions adds ReplicaFailure with the first failure, which stays as it is until there is none.
func conditions(c *sdk.Call, rs *appsv1.ReplicaSet, active []*corev1.Pod, failure error) []appsv1.ReplicaSetCondition {
	var others []appsv1.ReplicaSetCondition
	for i := range rs.Status.Conditions {
		if x := &rs.Status.Conditions[i]; x.Type != appsv1.ReplicaSetReplicaFailure {
			others = append(others, *x)
		}
	}
	switch failed := len(others) < len(rs.Status.Conditions); {
	case failure == nil:
		return others
	case failed:
		return rs.Status.Conditions
	}
	reason := pod.FailedCreate
	if excessPods(rs, active) > 0 {
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
