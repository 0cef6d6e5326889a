package podgc

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

const disruptionTarget = string(corev1.DisruptionTarget)

// Pod is a pod of which only what is told of its end is read: there may be tens of thousands of them in a sync.
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

var (
	podTable = wire.Type{Size: unsafe.Sizeof(Pod{}), New: wire.Grow[Pod], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.ObjectMeta), Elem: &metav1.ObjectMetaTable},
		{Num: 3, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.Status), Elem: &statusTable},
	}}
	statusTable = wire.Type{Size: unsafe.Sizeof(PodStatus{}), New: wire.Grow[PodStatus], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(PodStatus{}.Phase)},
		{Num: 2, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(PodStatus{}.Conditions), Elem: &conditionTable},
		{Num: 4, Kind: wire.String, Offset: unsafe.Offsetof(PodStatus{}.Reason)},
	}}
	conditionTable = wire.Type{Size: unsafe.Sizeof(Condition{}), New: wire.Grow[Condition], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(Condition{}.Type)},
		{Num: 2, Kind: wire.String, Offset: unsafe.Offsetof(Condition{}.Status)},
	}}
	podInfo = resource.Info{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Type: &podTable}
	pods    = resource.Of[Pod]{Info: podInfo}
)

// GetResource names the resource, and the form in which it is read.
func (*Pod) GetResource() *resource.Info { return &podInfo }

// terminal reports whether the pod has ended in one of the two ways that there are.
func (p *Pod) terminal() bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// awaitsFinalizers reports whether nothing keeps the pod but its finalizers: it has been deleted without grace, and
// another delete would change nothing.
func (p *Pod) awaitsFinalizers() bool {
	return p.terminal() && p.Deleting() && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
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
type node struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status nodeStatus
}

type nodeStatus struct{ Conditions []Condition }

var (
	nodeTable = wire.Type{Size: unsafe.Sizeof(node{}), New: wire.Grow[node], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(node{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(node{}.ObjectMeta), Elem: &metav1.ObjectMetaTable},
		{Num: 3, Kind: wire.Message, Offset: unsafe.Offsetof(node{}.Status), Elem: &nodeStatusTable},
	}}
	nodeStatusTable = wire.Type{Size: unsafe.Sizeof(nodeStatus{}), New: wire.Grow[nodeStatus], Fields: []wire.Field{
		{Num: 4, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(nodeStatus{}.Conditions), Elem: &conditionTable},
	}}
	nodeInfo = resource.Info{Version: "v1", Name: "nodes", Kind: "Node", Type: &nodeTable}
	nodeKind = resource.Of[node]{Info: nodeInfo}
)

// GetResource names the resource, and the form in which it is read.
func (*node) GetResource() *resource.Info { return &nodeInfo }
