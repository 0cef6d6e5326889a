package cleaner

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

//go:generate go run ../../hack/generate-narrow

// secretPaths are where a pod may name Secrets (pkg/api/v1/pod, VisitPodSecretNames).
var secretPaths = append([]string{
	"spec.imagePullSecrets.name",
	"spec.volumes.azureFile.secretName",
	"spec.volumes.cephfs.secretRef.name",
	"spec.volumes.cinder.secretRef.name",
	"spec.volumes.csi.nodePublishSecretRef.name",
	"spec.volumes.flexVolume.secretRef.name",
	"spec.volumes.iscsi.secretRef.name",
	"spec.volumes.projected.sources.secret.name",
	"spec.volumes.rbd.secretRef.name",
	"spec.volumes.scaleIO.secretRef.name",
	"spec.volumes.secret.secretName",
	"spec.volumes.storageos.secretRef.name",
}, environments("spec.containers", "spec.initContainers", "spec.ephemeralContainers")...)

func environments(lists ...string) (paths []string) {
	for _, l := range lists {
		paths = append(paths, l+".env.valueFrom.secretKeyRef.name", l+".envFrom.secretRef.name")
	}
	return paths
}

// pods are looked at only for tokens that may be of no use.
var pods = sdk.Select(podKind).Lazy().First(podsMost).Fields(secretPaths...).Quiet()

// podsMost is how many pods of a namespace are looked at; a namespace that has more keeps its tokens.
const podsMost = 100_000

// pod is a pod of which only the names of Secrets are read.
//
//narrow:resource v1/pods Pod namespaced
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec podSpec
}

type podSpec struct {
	Volumes                    []volume
	Containers, InitContainers []container
	EphemeralContainers        []ephemeralContainer
	ImagePullSecrets           []reference
}

type reference struct{ Name string }

type container struct {
	Env     []variable
	EnvFrom []variables
}

type ephemeralContainer struct{ EphemeralContainerCommon container }

type variable struct{ ValueFrom *variableSource }

type variableSource struct{ SecretKeyRef *secretReference }

type variables struct{ SecretRef *secretReference }

type secretReference struct{ LocalObjectReference reference }

type volume struct{ VolumeSource volumeSource }

// volumeSource has the kinds of volumes that name Secrets, each in its own field of the wire.
type volumeSource struct {
	AzureFile, Secret *secretVolume
	Projected         *projectedVolume
	CephFS            *cephFSVolume
	Cinder            *cinderVolume
	CSI               *csiVolume
	FlexVolume        *flexVolume
	ISCSI             *iscsiVolume
	RBD               *rbdVolume
	ScaleIO           *scaleIOVolume
	StorageOS         *storageOSVolume
}

type (
	secretVolume    struct{ SecretName string }
	projectedVolume struct{ Sources []projection }
	projection      struct{ Secret *secretReference }
	cephFSVolume    struct{ SecretRef *reference }
	cinderVolume    struct{ SecretRef *reference }
	csiVolume       struct{ NodePublishSecretRef *reference }
	flexVolume      struct{ SecretRef *reference }
	iscsiVolume     struct{ SecretRef *reference }
	rbdVolume       struct{ SecretRef *reference }
	scaleIOVolume   struct{ SecretRef *reference }
	storageOSVolume struct{ SecretRef *reference }
)

var podKind = resource.Of[pod]{Info: podInfo}

// visitSecrets calls f with each name of a Secret in the pod.
func (p *pod) visitSecrets(f func(name string)) {
	for _, r := range p.Spec.ImagePullSecrets {
		f(r.Name)
	}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].visitSecrets(f)
	}
	for i := range p.Spec.InitContainers {
		p.Spec.InitContainers[i].visitSecrets(f)
	}
	for i := range p.Spec.EphemeralContainers {
		p.Spec.EphemeralContainers[i].EphemeralContainerCommon.visitSecrets(f)
	}
	for i := range p.Spec.Volumes {
		p.Spec.Volumes[i].VolumeSource.visitSecrets(f)
	}
}

func (c *container) visitSecrets(f func(name string)) {
	for _, v := range c.Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			f(v.ValueFrom.SecretKeyRef.LocalObjectReference.Name)
		}
	}
	for _, v := range c.EnvFrom {
		if v.SecretRef != nil {
			f(v.SecretRef.LocalObjectReference.Name)
		}
	}
}

func (v *volumeSource) visitSecrets(f func(name string)) {
	for _, s := range []*secretVolume{v.AzureFile, v.Secret} {
		if s != nil {
			f(s.SecretName)
		}
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				f(s.Secret.LocalObjectReference.Name)
			}
		}
	}
	if r := v.secretRef(); r != nil {
		f(r.Name)
	}
}

// secretRef returns what the kinds of volumes refer to that have one Secret for their drivers; a volume is of one kind.
func (v *volumeSource) secretRef() *reference {
	switch {
	case v.CephFS != nil:
		return v.CephFS.SecretRef
	case v.Cinder != nil:
		return v.Cinder.SecretRef
	case v.CSI != nil:
		return v.CSI.NodePublishSecretRef
	case v.FlexVolume != nil:
		return v.FlexVolume.SecretRef
	case v.ISCSI != nil:
		return v.ISCSI.SecretRef
	case v.RBD != nil:
		return v.RBD.SecretRef
	case v.ScaleIO != nil:
		return v.ScaleIO.SecretRef
	case v.StorageOS != nil:
		return v.StorageOS.SecretRef
	}
	return nil
}
