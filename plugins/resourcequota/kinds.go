package resourcequota

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	resourcev1 "github.com/windlass-dev/windlass/sdk/api/resource/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// Pod is a pod of which only what it asks for, and what scopes look at, is read.
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
	Containers            []Container
	InitContainers        []Container
	Resources             *Requirements
	Overhead              corev1.ResourceList
	ActiveDeadlineSeconds *int64
	PriorityClassName     string
	Affinity              *Affinity
}

// Container is what is read of a container.
type Container struct {
	Name          string
	Resources     Requirements
	RestartPolicy *corev1.ContainerRestartPolicy
}

// Requirements are what a container, or a pod as a whole, asks for.
type Requirements struct{ Requests, Limits corev1.ResourceList }

// Affinity is what is read of a pod's affinity.
type Affinity struct{ PodAffinity, PodAntiAffinity *PodAffinity }

// PodAffinity is what is read of a pod's affinity or anti-affinity to pods.
type PodAffinity struct {
	RequiredDuringSchedulingIgnoredDuringExecution  []AffinityTerm
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedTerm
}

// WeightedTerm is a term with a weight.
type WeightedTerm struct{ PodAffinityTerm AffinityTerm }

// AffinityTerm is in which other namespaces a term looks for pods.
type AffinityTerm struct {
	Namespaces        []string
	NamespaceSelector *NamespaceSelector
}

// NamespaceSelector is there where a term selects namespaces.
type NamespaceSelector struct{}

// PodStatus is what is read of a pod's status.
type PodStatus struct {
	Phase                       corev1.PodPhase
	QOSClass                    corev1.PodQOSClass
	Conditions                  []PodCondition
	ContainerStatuses           []ContainerStatus
	InitContainerStatuses       []ContainerStatus
	ExtendedResourceClaimStatus *ExtendedClaim
}

// PodCondition is what is read of a pod's condition.
type PodCondition struct {
	Type   corev1.PodConditionType
	Reason string
}

// ContainerStatus is what a container has been given.
type ContainerStatus struct {
	Name               string
	AllocatedResources corev1.ResourceList
	Resources          *Requirements
}

// ExtendedClaim is which claim was made for a pod's extended resources.
type ExtendedClaim struct{ ResourceClaimName string }

var podKind = resource.Of[Pod]{Info: podInfo}

// Service is a service of which only what kinds of ports it has is read.
//
//narrow:resource v1/services Service namespaced
type Service struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec ServiceSpec
}

// ServiceSpec is what is read of a service's spec.
type ServiceSpec struct {
	Type                          corev1.ServiceType
	Ports                         []ServicePort
	AllocateLoadBalancerNodePorts *bool
}

// ServicePort is what is read of a service's port.
type ServicePort struct{ NodePort int32 }

var serviceKind = resource.Of[Service]{Info: serviceInfo}

// VolumeClaim is a PersistentVolumeClaim of which only how much of what it asks for is read.
//
//narrow:resource v1/persistentvolumeclaims PersistentVolumeClaim namespaced
type VolumeClaim struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   VolumeClaimSpec
	Status VolumeClaimStatus
}

// VolumeClaimSpec is what is read of a claim's spec.
type VolumeClaimSpec struct {
	Resources                 VolumeRequirements
	StorageClassName          *string
	VolumeAttributesClassName *string
}

// VolumeRequirements is what a claim asks for.
type VolumeRequirements struct{ Requests corev1.ResourceList }

// VolumeClaimStatus is what is read of a claim's status.
type VolumeClaimStatus struct {
	AllocatedResources               corev1.ResourceList
	CurrentVolumeAttributesClassName *string
	ModifyVolumeStatus               *ModifyVolumeStatus
}

// ModifyVolumeStatus is what a claim's volume is being made to be.
type ModifyVolumeStatus struct{ TargetVolumeAttributesClassName string }

var volumeClaimKind = resource.Of[VolumeClaim]{Info: volumeClaimInfo}

// DeviceClaim is a ResourceClaim of which only how many devices it asks for is read.
//
//narrow:resource resource.k8s.io/v1/resourceclaims ResourceClaim namespaced
type DeviceClaim struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec DeviceClaimSpec
}

// DeviceClaimSpec is what is read of a claim's spec.
type DeviceClaimSpec struct{ Devices Devices }

// Devices are the devices that a claim asks for.
type Devices struct{ Requests []DeviceRequest }

// DeviceRequest is one of a claim's requests.
type DeviceRequest struct {
	Exactly        *ExactRequest
	FirstAvailable []Alternative
}

// ExactRequest is how many devices of which class a request is for.
type ExactRequest struct {
	DeviceClassName string
	AllocationMode  resourcev1.DeviceAllocationMode
	Count           int64
}

// Alternative is one of several requests of which one is to be met.
type Alternative struct {
	DeviceClassName string
	AllocationMode  resourcev1.DeviceAllocationMode
	Count           int64
}

var deviceClaimKind = resource.Of[DeviceClaim]{Info: deviceClaimInfo}

// DeviceClass is a device class of which only its extended resource's name is read.
//
//narrow:resource resource.k8s.io/v1/deviceclasses DeviceClass
type DeviceClass struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec DeviceClassSpec
}

// DeviceClassSpec is what is read of a class's spec.
type DeviceClassSpec struct{ ExtendedResourceName *string }

var deviceClassKind = resource.Of[DeviceClass]{Info: deviceClassInfo}
