package horizontalpodautoscaler

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// pods are looked at when the metrics are; what happens to them meanwhile wakes nobody.
var pods = sdk.Select(podKind, sdk.KeyNamespace()).Lazy().Quiet().
	Fields("metadata.labels", "metadata.deletionTimestamp",
		"spec.containers.name", "spec.containers.resources.requests",
		"spec.initContainers.name", "spec.initContainers.resources.requests", "spec.initContainers.restartPolicy",
		"spec.resources.requests", "spec.overhead",
		"status.phase", "status.startTime", "status.conditions.type", "status.conditions.status",
		"status.conditions.lastTransitionTime")

// Pod is a pod of which only what matters for its share of the load is read.
//
//narrow:resource v1/pods Pod namespaced
type Pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   PodSpec
	Status PodStatus
}

// PodSpec is what is read of a pod's spec.
type PodSpec struct {
	Containers     []Container
	InitContainers []Container
	Overhead       corev1.ResourceList
	Resources      Requirements
}

// Container is what is read of a container.
type Container struct {
	Name          string
	Resources     Requirements
	RestartPolicy string
}

// Requirements are what a container, or a pod as a whole, asks for.
type Requirements struct{ Requests corev1.ResourceList }

// PodStatus is what is read of a pod's status.
type PodStatus struct {
	Phase      corev1.PodPhase
	Conditions []PodCondition
	StartTime  *wire.Time
}

// PodCondition is what is read of a pod's condition.
type PodCondition struct {
	Type, Status       string
	LastTransitionTime wire.Time
}

var podKind = resource.Of[Pod]{Info: podInfo}

// ended reports whether nothing of the pod runs any more, nor will.
func (p *Pod) ended() bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// readyCondition returns the pod's condition Ready, nil where it has none.
func (p *Pod) readyCondition() *PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == string(corev1.PodReady) {
			return c
		}
	}
	return nil
}
