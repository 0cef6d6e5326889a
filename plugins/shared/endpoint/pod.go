package endpoint

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../../hack/generate-narrow

// Pod is a pod of which only what makes an endpoint is read. With a thousand of them in a sync, a struct of a tenth of
// the size counts, as do the tables of all that a pod can have, which are half a module. No effect can name it.
//
//narrow:resource v1/pods Pod namespaced
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
//
//narrow:part v1 Pod spec.containers
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
//
//narrow:part v1 Pod status.conditions
type Condition struct {
	Type               string
	Status             corev1.ConditionStatus
	LastTransitionTime metav1.Time
}

// Pods is pods of v1, for views of what makes endpoints.
var Pods = resource.Of[Pod]{Info: podInfo}

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
	if err := wire.Unmarshal(b, unsafe.Pointer(&c), &ContainerTable); err != nil {
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
