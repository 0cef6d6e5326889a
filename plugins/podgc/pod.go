package podgc

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

const disruptionTarget = string(corev1.DisruptionTarget)

// Pod is a pod of which only what is told of its end is read: there may be tens of thousands of them in a sync.
//
//narrow:resource v1/pods Pod namespaced
type Pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status PodStatus
}

// PodStatus is what is read of a pod's status.
type PodStatus struct {
	Phase      corev1.PodPhase
	Reason     string
	Conditions []Condition
}

// Condition is what is read of a pod's condition, or of a node's.
type Condition struct {
	Type   string
	Status corev1.ConditionStatus
}

var pods = resource.Of[Pod]{Info: podInfo}

// terminal reports whether the pod has ended in one of the two ways that there are.
func (p *Pod) terminal() bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// awaitsFinalizers reports whether nothing keeps the pod but its finalizers: it has been deleted without grace, and
// another delete would change nothing.
func (p *Pod) awaitsFinalizers() bool {
	return len(p.Finalizers) > 0 && p.terminal() && p.Deleting() && p.DeletionGracePeriodSeconds != nil &&
		*p.DeletionGracePeriodSeconds == 0
}

// evicted reports whether a kubelet has ended the pod for want of something.
func (p *Pod) evicted() bool {
	return p.Status.Phase == corev1.PodFailed && p.Status.Reason == "Evicted"
}

// isConditionTrue reports whether the condition of that type is true.
func isConditionTrue(conditions []Condition, conditionType string) bool {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// node is a node of which only whether it is ready is read.
//
//narrow:resource v1/nodes Node
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status nodeStatus
}

type nodeStatus struct{ Conditions []Condition }

var nodeKind = resource.Of[node]{Info: nodeInfo}
