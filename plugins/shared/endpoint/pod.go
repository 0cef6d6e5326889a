package endpoint

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Pod is a pod of which only what makes an endpoint is read. With a thousand of them in a sync, a struct of a tenth of
// the size counts, as do the tables of all that a pod can have, which are half a module. No effect can name it.
type Pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   PodSpec
	Status PodStatus
}

// PodSpec is what is read of a pod's spec.
type PodSpec struct {
	Containers, InitContainers    [][]byte // each a container on the wire: few services look into them
	NodeName, Hostname, Subdomain string
}

// Container is what is read of a container.
type Container struct {
	Ports         []corev1.ContainerPort
	RestartPolicy corev1.ContainerRestartPolicy
}

// PodStatus is what is read of a pod's status.
type PodStatus struct {
	Phase      corev1.PodPhase
	Conditions [][]byte // each a condition on the wire: one of five matters
	PodIPs     []corev1.PodIP
}

// Condition is what is read of a pod's condition, or of a node's.
type Condition struct {
	Type               string
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
}

var (
	podTable = wire.Type{Size: unsafe.Sizeof(Pod{}), New: wire.Grow[Pod], Fields: []wire.Field{
		{Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.TypeMeta), Elem: &metav1.TypeMetaTable},
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.ObjectMeta), Elem: &metav1.ObjectMetaTable},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.Spec), Elem: &specTable},
		{Num: 3, Kind: wire.Message, Offset: unsafe.Offsetof(Pod{}.Status), Elem: &statusTable},
	}}
	specTable = wire.Type{Size: unsafe.Sizeof(PodSpec{}), New: wire.Grow[PodSpec], Fields: []wire.Field{
		{Num: 2, Kind: wire.Rep | wire.Bytes, Offset: unsafe.Offsetof(PodSpec{}.Containers)},
		{Num: 10, Kind: wire.String, Offset: unsafe.Offsetof(PodSpec{}.NodeName)},
		{Num: 16, Kind: wire.String, Offset: unsafe.Offsetof(PodSpec{}.Hostname)},
		{Num: 17, Kind: wire.String, Offset: unsafe.Offsetof(PodSpec{}.Subdomain)},
		{Num: 20, Kind: wire.Rep | wire.Bytes, Offset: unsafe.Offsetof(PodSpec{}.InitContainers)},
	}}
	containerTable = wire.Type{Size: unsafe.Sizeof(Container{}), New: wire.Grow[Container], Fields: []wire.Field{
		{Num: 6, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(Container{}.Ports), Elem: &corev1.ContainerPortTable},
		{Num: 24, Kind: wire.String, Offset: unsafe.Offsetof(Container{}.RestartPolicy)},
	}}
	statusTable = wire.Type{Size: unsafe.Sizeof(PodStatus{}), New: wire.Grow[PodStatus], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(PodStatus{}.Phase)},
		{Num: 2, Kind: wire.Rep | wire.Bytes, Offset: unsafe.Offsetof(PodStatus{}.Conditions)},
		{Num: 12, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(PodStatus{}.PodIPs), Elem: &corev1.PodIPTable},
	}}
	// ConditionTable is the form of a pod's conditions on the wire, as well as of a node's.
	ConditionTable = wire.Type{Size: unsafe.Sizeof(Condition{}), New: wire.Grow[Condition], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(Condition{}.Type)},
		{Num: 2, Kind: wire.String, Offset: unsafe.Offsetof(Condition{}.Status)},
		{Num: 4, Kind: wire.Message, Offset: unsafe.Offsetof(Condition{}.LastTransitionTime), Elem: &wire.TimeTable},
	}}
)

var podInfo = resource.Info{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Type: &podTable}

// Pods is pods of v1, for views of what makes endpoints.
var Pods = resource.Of[Pod]{Info: podInfo}

// GetResource names the resource, and the form in which it is read.
func (*Pod) GetResource() *resource.Info { return &podInfo }

// PodFields are what is read of a pod.
var PodFields = []string{"metadata.deletionTimestamp", "spec.nodeName", "spec.hostname", "spec.subdomain",
	"spec.containers.ports.name", "spec.containers.ports.containerPort", "spec.containers.ports.protocol",
	"spec.initContainers.restartPolicy", "spec.initContainers.ports.name", "spec.initContainers.ports.containerPort",
	"spec.initContainers.ports.protocol",
	"status.phase", "status.podIPs", "status.conditions.type", "status.conditions.status",
	"status.conditions.lastTransitionTime"}

// QuietFields are those of PodFields that wake nobody by themselves: the node is set before a pod has an address, and
// of the conditions only Ready matters, which a view of the ready pods watches.
var QuietFields = []string{"spec.nodeName", "spec.containers", "spec.initContainers", "status.conditions"}

// IsReady selects the pods that are ready.
func IsReady() sdk.Condition {
	return sdk.Each("status.conditions", sdk.In("type", string(corev1.PodReady)),
		sdk.In("status", string(corev1.ConditionTrue)))
}

// Ready reports whether the pod is ready, and since when it is or isn't, unset where that is not known.
func (p *Pod) Ready() (bool, metav1.Time) {
	for _, b := range p.Status.Conditions {
		// The type, field 1, comes first; where it doesn't, all has to be read.
		if len(b) > 1 && b[0] == 1<<3|byte(wire.WireBytes) && int(b[1]) != len(corev1.PodReady) {
			continue
		}
		var c Condition
		if err := wire.Unmarshal(b, unsafe.Pointer(&c), &ConditionTable); err == nil && c.Type == string(corev1.PodReady) {
			return c.Status == corev1.ConditionTrue, c.LastTransitionTime
		}
	}
	return false, metav1.Time{}
}

// readContainer reads a container; one that can't be read has no ports.
func readContainer(b []byte) (c Container) {
	if err := wire.Unmarshal(b, unsafe.Pointer(&c), &containerTable); err != nil {
		return Container{}
	}
	return c
}

// Eligible reports whether the pod can be an endpoint: it has an address and has not ended. A pod that is being deleted
// can where the caller takes such.
func (p *Pod) Eligible(terminating bool) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && len(p.Status.PodIPs) > 0 &&
		(terminating || !p.Deleting())
}

// Hostname is the name under which DNS finds the pod within the service, empty where it has none.
func (p *Pod) Hostname(s *corev1.Service) string {
	if p.Spec.Subdomain != s.Name {
		return ""
	}
	return p.Spec.Hostname
}

// Ref points to the pod.
func (p *Pod) Ref() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: podInfo.Kind, Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// IsAt reports whether a reference is [Pod.Ref], whatever version of the pod it was made of.
func (p *Pod) IsAt(r *corev1.ObjectReference) bool {
	return r != nil && wire.Same(string(r.UID), string(p.UID)) && wire.Same(r.Name, p.Name) &&
		wire.Same(r.Namespace, p.Namespace) && r.Kind == podInfo.Kind && r.APIVersion == "" && r.FieldPath == ""
}
