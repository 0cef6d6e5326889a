package scheduling

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../../hack/generate-narrow

// Node is a node of which only what a scheduler's required rules look at is read. No effect can name it.
//
//narrow:resource v1/nodes Node
type Node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec NodeSpec
}

// NodeSpec has a node's taints.
type NodeSpec struct{ Taints []corev1.Taint }

// NodeFields are the paths that this package reads of nodes.
var NodeFields = []string{"metadata.labels", "spec.taints.key", "spec.taints.value", "spec.taints.effect"}

// Nodes is nodes of v1, for views of [Node].
var Nodes = resource.Of[Node]{Info: nodeInfo}
