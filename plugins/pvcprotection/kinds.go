package pvcprotection

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// claim is a PersistentVolumeClaim of which only its status is read: all that one may be would be most of the module.
//
//narrow:resource v1/persistentvolumeclaims PersistentVolumeClaim namespaced
type claim struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status claimStatus
}

type claimStatus struct {
	Phase      corev1.PersistentVolumeClaimPhase
	Conditions []corev1.PersistentVolumeClaimCondition
}

var claimKind = resource.Of[claim]{Info: claimInfo}

// pod is a pod of which only its ephemeral volumes are read.
//
//narrow:resource v1/pods Pod namespaced
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec podSpec
}

type podSpec struct{ Volumes []volume }

type volume struct {
	Name         string
	VolumeSource source
}

type source struct{ Ephemeral *ephemeral }

// ephemeral is there where the volume's claim is made for the pod.
type ephemeral struct{}

var podKind = resource.Of[pod]{Info: podInfo}
