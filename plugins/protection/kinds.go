package protection

import (
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// volume is a PersistentVolume of which only its phase is read: all that one may be would be most of the module.
//
//narrow:resource v1/persistentvolumes PersistentVolume
type volume struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status volumeStatus
}

type volumeStatus struct {
	Phase corev1.PersistentVolumePhase
}

var volumeKind = resource.Of[volume]{Info: volumeInfo}

// class is a VolumeAttributesClass of which nothing but the metadata is read.
//
//narrow:resource storage.k8s.io/v1/volumeattributesclasses VolumeAttributesClass
type class struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

var classKind = resource.Of[class]{Info: classInfo}
