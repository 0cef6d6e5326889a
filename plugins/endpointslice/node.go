package endpointslice

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/endpoint"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// node is a node of which only what is needed here is read, as of pods.
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status nodeStatus
}

type nodeStatus struct {
	Allocatable corev1.ResourceList
	Conditions  []endpoint.Condition
}

type resourceEntry = wire.Entry[corev1.ResourceName, resource.Quantity]

var (
	nodeTable = wire.Type{Size: unsafe.Sizeof(node{}), New: wire.Grow[node], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(node{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(node{}.ObjectMeta), Elem: &metav1.ObjectMetaTable},
		{Num: 3, Kind: wire.Message, Offset: unsafe.Offsetof(node{}.Status), Elem: &nodeStatusTable},
	}}
	nodeStatusTable = wire.Type{Size: unsafe.Sizeof(nodeStatus{}), New: wire.Grow[nodeStatus], Fields: []wire.Field{
		{Num: 2, Kind: wire.Map | wire.Message, Offset: unsafe.Offsetof(nodeStatus{}.Allocatable), Elem: &resourceEntryTable},
		{Num: 4, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(nodeStatus{}.Conditions),
			Elem: &endpoint.ConditionTable},
	}}
	resourceEntryTable = wire.Type{Size: unsafe.Sizeof(resourceEntry{}), New: wire.Grow[resourceEntry],
		Fields: []wire.Field{
			{Num: 1, Kind: wire.String},
			{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(resourceEntry{}.Value), Elem: &wire.QuantityTable},
		}}
	nodeInfo = resource.Info{Version: "v1", Name: "nodes", Kind: "Node", Type: &nodeTable}
)

// GetResource names the resource, and the form in which it is read.
func (*node) GetResource() *resource.Info { return &nodeInfo }

func (n *node) isReady() bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == string(corev1.NodeReady) {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
