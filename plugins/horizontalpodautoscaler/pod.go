package horizontalpodautoscaler

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// pods are looked at when the metrics are; what happens to them meanwhile wakes nobody.
var pods = sdk.Select(podKind, sdk.KeyNamespace()).Lazy().Quiet().
	Fields("metadata.labels", "metadata.deletionTimestamp",
		"spec.containers.name", "spec.containers.resources.requests",
		"spec.initContainers.name", "spec.initContainers.resources.requests", "spec.initContainers.restartPolicy",
		"spec.resources.requests", "spec.overhead",
		"status.phase", "status.startTime", "status.conditions.type", "status.conditions.status",
		"status.conditions.lastTransitionTime")

// Pod is a pod of which only what matters for its share of the load is read.
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

type amount = wire.Entry[corev1.ResourceName, wire.Quantity]

var (
	podTable = wire.Type{Size: unsafe.Sizeof(Pod{}), New: wire.Grow[Pod], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.ObjectMeta), Elem: &metav1.ObjectMetaTable},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.Spec), Elem: &specTable},
		{Num: 3, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.Status), Elem: &statusTable},
	}}
	specTable = wire.Type{Size: unsafe.Sizeof(PodSpec{}), New: wire.Grow[PodSpec], Fields: []wire.Field{
		{Num: 2, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(PodSpec{}.Containers), Elem: &containerTable},
		{Num: 20, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(PodSpec{}.InitContainers), Elem: &containerTable},
		{Num: 32, Kind: wire.Map | wire.Message, Offset: unsafe.Offsetof(PodSpec{}.Overhead), Elem: &amountTable},
		{Num: 40, Kind: wire.Message, Offset: unsafe.Offsetof(PodSpec{}.Resources), Elem: &requirementsTable},
	}}
	containerTable = wire.Type{Size: unsafe.Sizeof(Container{}), New: wire.Grow[Container], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(Container{}.Name)},
		{Num: 8, Kind: wire.Message, Offset: unsafe.Offsetof(Container{}.Resources), Elem: &requirementsTable},
		{Num: 24, Kind: wire.String, Offset: unsafe.Offsetof(Container{}.RestartPolicy)},
	}}
	requirementsTable = wire.Type{Size: unsafe.Sizeof(Requirements{}), New: wire.Grow[Requirements], Fields: []wire.Field{
		{Num: 2, Kind: wire.Map | wire.Message, Offset: unsafe.Offsetof(Requirements{}.Requests), Elem: &amountTable},
	}}
	amountTable = wire.Type{Size: unsafe.Sizeof(amount{}), New: wire.Grow[amount], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(amount{}.Key)},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(amount{}.Value), Elem: &wire.QuantityTable},
	}}
	statusTable = wire.Type{Size: unsafe.Sizeof(PodStatus{}), New: wire.Grow[PodStatus], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(PodStatus{}.Phase)},
		{Num: 2, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(PodStatus{}.Conditions), Elem: &conditionTable},
		{Num: 7, Kind: wire.Ptr | wire.Message, Offset: unsafe.Offsetof(PodStatus{}.StartTime), Elem: &wire.TimeTable},
	}}
	conditionTable = wire.Type{Size: unsafe.Sizeof(PodCondition{}), New: wire.Grow[PodCondition], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(PodCondition{}.Type)},
		{Num: 2, Kind: wire.String, Offset: unsafe.Offsetof(PodCondition{}.Status)},
		{Num: 4, Kind: wire.Message, Offset: unsafe.Offsetof(PodCondition{}.LastTransitionTime), Elem: &wire.TimeTable},
	}}
	podInfo = resource.Info{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Type: &podTable}
	podKind = resource.Of[Pod]{Info: podInfo}
)

// GetResource names the resource, and the form in which it is read.
func (*Pod) GetResource() *resource.Info { return &podInfo }

// readyCondition returns the pod's condition Ready, nil where it has none.
func (p *Pod) readyCondition() *PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == string(corev1.PodReady) {
			return c
		}
	}
	return nil
}
