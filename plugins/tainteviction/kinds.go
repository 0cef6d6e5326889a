package tainteviction

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// pod is a pod of which only what it tolerates is read, and what is told of its end.
//
//narrow:resource v1/pods Pod namespaced
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   podSpec
	Status podStatus
}

type podSpec struct{ Tolerations []corev1.Toleration }

type podStatus struct{ Conditions []condition }

// condition is what is read of a pod's condition.
type condition struct {
	Type          string
	Status        corev1.ConditionStatus
	Reason        string
	Message       string
	LastProbeTime metav1.Time
}

var podKind = resource.Of[pod]{Info: podInfo}

// node is a node of which only the taints are read.
//
//narrow:resource v1/nodes Node
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec nodeSpec
}

type nodeSpec struct{ Taints []corev1.Taint }

var nodeKind = resource.Of[node]{Info: nodeInfo}
