package protection

import (
	"context"
	"fmt"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/protection"
)

//go:linkname processClass k8s.io/kubernetes/pkg/controller/volume/vacprotection.(*Controller).processNextWorkItem
func processClass(*upstream.Controller, context.Context) bool

var (
	classes = storagev1.SchemeGroupVersion.WithResource("volumeattributesclasses")
	claims  = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

	classNames = []string{"fast", "slow", "archive"}
)

func TestClassesAsUpstream(t *testing.T) { differential.Run(t, classSubject()) }

func TestClassesWakesAsUpstream(t *testing.T) { differential.Wakes(t, classSubject()) }

func classSubject() *differential.Subject {
	return &differential.Subject{
		Controller: "volumeattributesclass-protection-controller",
		Plugin:     protection.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c, err := upstream.NewVACProtectionController(klog.FromContext(e.Context), e.Client, f.PersistentVolumeClaims(),
				f.PersistentVolumes(), e.Informers.Storage().V1().VolumeAttributesClasses())
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { return processClass(c, ctx) },
			}, err
		},
		World: classObjects,
		Deeds: append(volumeDeeds(),
			differential.Appear(func(r *world.Rand) runtime.Object { return attributesClass(r, world.Of(r, classNames...)) }),
			differential.Vary(classes, "other finalizers", func(r *world.Rand, c *storagev1.VolumeAttributesClass) {
				c.Finalizers = finalizers(r, volumeutil.VACProtectionFinalizer)
				stay(c)
			}),
			differential.Vary(classes, "other labels", func(r *world.Rand, c *storagev1.VolumeAttributesClass) {
				c.Labels = r.Labels("web")
			}),
			differential.Vary(classes, "the end", func(r *world.Rand, c *storagev1.VolumeAttributesClass) { r.End(c) }),
			differential.Delete(classes),
			differential.Delete(classes),
			differential.Vanish(classes),
			differential.Appear(func(r *world.Rand) runtime.Object { return claim(r, fmt.Sprintf("new-%d", r.IntN(100))) }),
			differential.Vary(claims, "other classes", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { named(r, c) }),
			differential.Vary(claims, "other classes", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { named(r, c) }),
			differential.Vary(claims, "other classes", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { named(r, c) }),
			differential.Delete(claims),
			differential.Vanish(claims),
			differential.Vanish(claims),
			differential.Vanish(volumes),
		),
		Faults: []string{"update volumeattributesclasses"},
	}
}

// classObjects are some classes, and claims and volumes that name them, or others, or none.
func classObjects(r *world.Rand) (all []runtime.Object) {
	all = append(all, r.Namespace("other"))
	for _, name := range classNames {
		if !r.One(4) {
			all = append(all, attributesClass(r, name))
		}
	}
	for i := range r.IntN(3) {
		all = append(all, claim(r, fmt.Sprintf("data-%d", i)))
	}
	for i := range r.IntN(3) {
		all = append(all, volume(r, fmt.Sprintf("disk-%d", i)))
	}
	return all
}

func attributesClass(r *world.Rand, name string) *storagev1.VolumeAttributesClass {
	c := &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: r.UID(), CreationTimestamp: r.Ago(3000),
			Finalizers: finalizers(r, volumeutil.VACProtectionFinalizer),
		},
		DriverName: "csi.example.com",
		Parameters: map[string]string{"iops": world.Of(r, "100", "1000")},
	}
	if r.One(4) {
		c.Labels = r.Labels("web")
	}
	if r.One(2) {
		r.End(c)
	}
	return c
}

func claim(r *world.Rand, name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: world.Of(r, world.Namespace, world.Namespace, "other"), UID: r.UID(),
			CreationTimestamp: r.Ago(3000),
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")},
			},
		},
	}
	named(r, c)
	if r.One(6) {
		r.End(c)
	}
	return c
}

// named has a claim want a class, have one, and be on its way to one, each in most cases or not.
func named(r *world.Rand, c *corev1.PersistentVolumeClaim) {
	one := func() string { return world.Of(r, classNames...) }
	c.Spec.VolumeAttributesClassName = world.Maybe(r, world.Of(r, one(), one(), one(), ""))
	c.Status.CurrentVolumeAttributesClassName = world.Maybe(r, one())
	c.Status.ModifyVolumeStatus = nil
	if r.One(3) {
		c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{
			TargetVolumeAttributesClassName: world.Of(r, one(), one(), ""),
			Status: world.Of(r, corev1.PersistentVolumeClaimModifyVolumePending,
				corev1.PersistentVolumeClaimModifyVolumeInProgress, corev1.PersistentVolumeClaimModifyVolumeInfeasible),
		}
	}
}
