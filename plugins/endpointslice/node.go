package endpointslice

import (
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

//go:generate go run ../../hack/generate-narrow

// node is a node of which only what is needed here is read, as of pods.
//
//narrow:resource v1/nodes Node
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status nodeStatus
}

type nodeStatus struct {
	Allocatable corev1.ResourceList
	Conditions  []endpoint.Condition
}

func (n *node) isReady() bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == string(corev1.NodeReady) {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
