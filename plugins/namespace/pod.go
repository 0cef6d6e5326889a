package namespace

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// pod is a pod of which only how long it may take to end is read.
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   podSpec
	Status podStatus
}

type podSpec struct{ TerminationGracePeriodSeconds *int64 }

type podStatus struct{ Phase corev1.PodPhase }

var (
	podTable = wire.Type{Size: unsafe.Sizeof(pod{}), New: wire.Grow[pod], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(pod{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(pod{}.ObjectMeta), Elem: &metav1.ObjectMetaTable},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(pod{}.Spec), Elem: &podSpecTable},
		{Num: 3, Kind: wire.Message, Offset: unsafe.Offsetof(pod{}.Status), Elem: &podStatusTable},
	}}
	podSpecTable = wire.Type{Size: unsafe.Sizeof(podSpec{}), New: wire.Grow[podSpec], Fields: []wire.Field{
		{Num: 4, Kind: wire.Ptr | wire.Int64, Offset: unsafe.Offsetof(podSpec{}.TerminationGracePeriodSeconds)},
	}}
	podStatusTable = wire.Type{Size: unsafe.Sizeof(podStatus{}), New: wire.Grow[podStatus], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(podStatus{}.Phase)},
	}}
	podInfo = resource.Info{Version: "v1", Name: podsName, Kind: "Pod", Namespaced: true, Type: &podTable}
	pods    = resource.Of[pod]{Info: podInfo}
)

const (
	podsName = "pods"
	podsID   = "v1/" + podsName
)

// GetResource names the resource, and the form in which it is read.
func (*pod) GetResource() *resource.Info { return &podInfo }
