package nodeipam

import (
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// node is a node of which only its ranges are read.
//
//narrow:resource v1/nodes Node
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec nodeSpec
}

type nodeSpec struct{ PodCIDRs []string }

var nodeKind = resource.Of[node]{Info: nodeInfo}
