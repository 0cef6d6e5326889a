package protection

import (
	"context"
	"fmt"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/protection"
)

//go:linkname processVolume k8s.io/kubernetes/pkg/controller/volume/pvprotection.(*Controller).processNextWorkItem
func processVolume(*upstream.Controller, context.Context) bool

var volumes = corev1.SchemeGroupVersion.WithResource("persistentvolumes")

func TestAsUpstream(t *testing.T) { differential.Run(t, volumeSubject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, volumeSubject()) }

func volumeSubject() *differential.Subject {
	return &differential.Subject{
		Controller: "persistentvolume-protection-controller",
		Plugin:     protection.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			c, err := upstream.NewPVProtectionController(klog.FromContext(e.Context),
				e.Informers.Core().V1().PersistentVolumes(), e.Client)
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { return processVolume(c, ctx) },
			}, err
		},
		World: func(r *world.Rand) (all []runtime.Object) {
			for i := range 1 + r.IntN(4) {
				all = append(all, volume(r, fmt.Sprintf("disk-%d", i)))
			}
			return all
		},
		Deeds:  volumeDeeds(),
		Faults: []string{"update persistentvolumes"},
	}
}

// volumeDeeds are what others do to volumes.
func volumeDeeds() []differential.Deed {
	return []differential.Deed{
		differential.Appear(func(r *world.Rand) runtime.Object { return volume(r, fmt.Sprintf("new-%d", r.IntN(100))) }),
		differential.Vary(volumes, "another phase", func(r *world.Rand, v *corev1.PersistentVolume) { phase(r, v) }),
		differential.Vary(volumes, "another phase", func(r *world.Rand, v *corev1.PersistentVolume) { phase(r, v) }),
		differential.Vary(volumes, "another class", func(r *world.Rand, v *corev1.PersistentVolume) { class(r, v) }),
		differential.Vary(volumes, "other finalizers", func(r *world.Rand, v *corev1.PersistentVolume) {
			v.Finalizers = finalizers(r, volumeutil.PVProtectionFinalizer)
			stay(v)
		}),
		differential.Vary(volumes, "other labels", func(r *world.Rand, v *corev1.PersistentVolume) {
			v.Labels = r.Labels("web")
		}),
		differential.Vary(volumes, "the end", func(r *world.Rand, v *corev1.PersistentVolume) { r.End(v) }),
		differential.Delete(volumes),
		differential.Delete(volumes),
		differential.Vanish(volumes),
	}
}

// volume returns one in any state of its life.
func volume(r *world.Rand, name string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000),
			Finalizers: finalizers(r, volumeutil.PVProtectionFinalizer),
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(world.Of(r, "1Gi", "500M"))},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: world.Of(r, corev1.PersistentVolumeReclaimRetain,
				corev1.PersistentVolumeReclaimDelete),
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name},
			},
		},
	}
	phase(r, v)
	class(r, v)
	if r.One(4) {
		v.Labels = r.Labels("web")
	}
	if r.One(3) {
		r.End(v)
	}
	return v
}

// phase has the volume be bound, or not yet, or no longer.
func phase(r *world.Rand, v *corev1.PersistentVolume) {
	v.Status.Phase = world.Of(r, corev1.VolumeBound, corev1.VolumeBound, corev1.VolumeAvailable, corev1.VolumeReleased,
		corev1.VolumeFailed, corev1.VolumePending, "")
	v.Spec.ClaimRef = nil
	if v.Status.Phase == corev1.VolumeBound || v.Status.Phase == corev1.VolumeReleased {
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: world.Namespace, Name: "data"}
	}
}

// class has the volume be of a class, or of none.
func class(r *world.Rand, v *corev1.PersistentVolume) {
	v.Spec.VolumeAttributesClassName = world.Maybe(r, world.Of(r, classNames...))
}

// finalizers are some, with the protecting one among them or not, in any order.
func finalizers(r *world.Rand, protecting string) []string {
	return world.Of(r, nil, []string{protecting}, []string{protecting}, []string{"example.com/stay"},
		[]string{"example.com/stay", protecting}, []string{protecting, "example.com/stay"})
}

// stay has something keep an object that is being deleted, as a server would have it.
func stay(o metav1.Object) {
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		o.SetFinalizers([]string{"example.com/stay"})
	}
}
