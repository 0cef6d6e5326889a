package ephemeralvolume

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/volume/ephemeral"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/ephemeralvolume"
)

// process is of a type that its package keeps to itself.
//
//go:linkname process k8s.io/kubernetes/pkg/controller/volume/ephemeral.(*ephemeralController).processNextWorkItem
func process(controller unsafe.Pointer, ctx context.Context) bool

var claims = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "ephemeral-volume-controller",
		Plugin:     ephemeralvolume.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c, err := upstream.NewController(e.Context, e.Client, f.Pods(), f.PersistentVolumeClaims())
			if err != nil {
				return nil, err
			}
			p := reflect.ValueOf(c).UnsafePointer()
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(p, ctx) }}, nil
		},
		World: objects,
		Deeds: append(differential.NamespacesChange(),
			differential.EndNamespace(differential.Pods, claims),
			differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, world.Of(r, names...)) }),
			differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, world.Of(r, names...)) }),
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
			differential.Vary(differential.Pods, "the end", func(r *world.Rand, p *corev1.Pod) { r.End(p) }),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object { return claim(r, nil) }),
			differential.Vary(claims, "other owners", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { owned(r, c, nil) }),
			differential.Vary(claims, "the end", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { r.End(c) }),
			differential.Delete(claims),
			differential.Vanish(claims),
			differential.Vanish(claims),
			differential.Vanish(claims),
		),
		Faults: []string{"create persistentvolumeclaims"},
	}
}

var (
	names   = []string{"web", "db", "web-db"}
	volumes = []string{"scratch", "cache", "db-scratch"}
)

// objects are pods with ephemeral volumes, others or none, and claims that are theirs, or somebody else's with their
// names.
func objects(r *world.Rand) (all []runtime.Object) {
	for _, n := range world.Namespaces[1:] {
		all = append(all, r.Namespace(n))
	}

	var pods []*corev1.Pod
	for _, name := range names[:1+r.IntN(len(names))] {
		p := pod(r, name)
		all, pods = append(all, p), append(pods, p)
	}
	for range r.IntN(4) {
		all = append(all, claim(r, pods))
	}
	return all
}

func pod(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	if r.One(3) {
		p.Namespace = world.Of(r, world.Namespaces...)
	}
	p.Spec.Volumes = nil
	for _, v := range volumes {
		if r.One(4) {
			continue
		}
		p.Spec.Volumes = append(p.Spec.Volumes, volume(r, v, p))
	}
	return p
}

// volume is an ephemeral one in most cases.
func volume(r *world.Rand, name string, p *corev1.Pod) corev1.Volume {
	switch r.IntN(6) {
	case 0:
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	case 1:
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.Name + "-" + world.Of(r, volumes...)},
		}}
	}

	t := corev1.PersistentVolumeClaimTemplate{Spec: claimSpec(r)}
	if r.One(2) {
		t.Labels = r.Labels("web")
	}
	if r.One(3) {
		t.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b", "")}
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &t},
	}}
}

func claimSpec(r *world.Rand) corev1.PersistentVolumeClaimSpec {
	s := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{
			world.Of(r, corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod),
		},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(world.Of(r, "1Gi", "0.5Gi", "1000m"))},
		},
		StorageClassName:          world.Maybe(r, world.Of(r, "fast", "")),
		VolumeAttributesClassName: world.Maybe(r, "gold"),
	}
	s.VolumeMode = world.Maybe(r, world.Of(r, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock))
	if r.One(4) {
		s.Selector = &metav1.LabelSelector{MatchLabels: r.Labels("web")}
	}
	if r.One(5) {
		s.VolumeName = "disk"
	}
	if r.One(4) {
		s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: world.Ptr("snapshot.storage.k8s.io"),
			Kind: "VolumeSnapshot", Name: "before"}
	}
	return s
}

// claim has a name as a pod's has in most cases, and may be one of these pods'.
func claim(r *world.Rand, pods []*corev1.Pod) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s-%s", world.Of(r, names...), world.Of(r, volumes...)),
			Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(2000),
		},
		Spec: claimSpec(r),
	}
	owned(r, c, pods)
	if r.One(6) {
		c.Namespace = world.Of(r, world.Namespaces...)
	}
	if r.One(3) {
		c.Finalizers = []string{"kubernetes.io/pvc-protection"}
	}
	if r.One(8) {
		r.End(c)
	}
	return c
}

// owned has a claim be one of these pods', as its controller or not, or nobody's.
func owned(r *world.Rand, c *corev1.PersistentVolumeClaim, pods []*corev1.Pod) {
	c.OwnerReferences = nil
	if len(pods) > 0 && !r.One(4) {
		p := world.Of(r, pods...)
		c.OwnerReferences = append(c.OwnerReferences, world.Owner("v1", "Pod", p.Name, p.UID))
		if r.One(4) {
			c.OwnerReferences[0].Controller = world.Maybe(r, false)
		}
		if r.One(2) {
			c.Name = p.Name + "-" + world.Of(r, volumes...)
		}
	}
	if r.One(4) {
		o := world.Owner("v1", "ConfigMap", "settings", r.UID())
		o.Controller = nil
		c.OwnerReferences = append(c.OwnerReferences, o)
	}
}
