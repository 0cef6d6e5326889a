package scheduling

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Node is a node of which only what a scheduler's required rules look at is read. No effect can name it.
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

var (
	nodeTable = wire.Type{Size: unsafe.Sizeof(Node{}), New: wire.Grow[Node], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(Node{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(Node{}.ObjectMeta), Elem: &metav1.ObjectMetaTable,
			JSON: "metadata"},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(Node{}.Spec), Elem: &nodeSpecTable, JSON: "spec"},
	}}
	nodeSpecTable = wire.Type{Size: unsafe.Sizeof(NodeSpec{}), New: wire.Grow[NodeSpec], Fields: []wire.Field{
		{Num: 5, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(NodeSpec{}.Taints), Elem: &corev1.TaintTable,
			JSON: "taints"},
	}}
	nodeInfo = resource.Info{Version: "v1", Name: "nodes", Kind: "Node", Type: &nodeTable}
)

// GetResource names the resource, and the form in which it is read.
func (*Node) GetResource() *resource.Info { return &nodeInfo }
