package pvcprotection

import (
	"context"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/pvcprotection"
)

// take moves a key to those of its namespace, process syncs these.
//
//go:linkname take k8s.io/kubernetes/pkg/controller/volume/pvcprotection.(*Controller).processNextWorkItem
func take(*upstream.Controller) bool

//go:linkname process k8s.io/kubernetes/pkg/controller/volume/pvcprotection.(*Controller).processPVCsByNamespace
func process(*upstream.Controller, context.Context) bool

var claims = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

// At rest upstream's controller meets no conflict with itself where it writes the condition and the finalizer in one
// sync, a row of docs/differences.md.
func TestAsUpstream(t *testing.T) {
	s := subject()
	s.AtRest = true
	differential.Run(t, s)
}

// Where no claim that may have the condition lacks the finalizer each sync is the same.
func TestSyncsAsUpstream(t *testing.T) {
	s := subject()
	s.Share = 4
	s.World = func(r *world.Rand) []runtime.Object {
		all := objects(r)
		for _, o := range all {
			if c, ok := o.(*corev1.PersistentVolumeClaim); ok {
				protect(c)
			}
		}
		return all
	}
	for i, deed := range s.Deeds {
		s.Deeds[i] = func(r *world.Rand, c *api.Cluster) (string, error) {
			what, err := deed(r, c)
			if err != nil {
				return what, err
			}
			return what, protectAll(c)
		}
	}
	differential.Run(t, s)
}

func protectAll(c *api.Cluster) error {
	all, err := c.List(claims)
	if err != nil {
		return err
	}
	for _, o := range all {
		x := o.(*corev1.PersistentVolumeClaim)
		if !protect(x) {
			continue
		}
		err := c.Change(claims, x.Namespace, x.Name, func(o runtime.Object) { protect(o.(*corev1.PersistentVolumeClaim)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// protect adds the finalizer to a claim that lacks it and may have the condition, and reports whether it did.
func protect(c *corev1.PersistentVolumeClaim) bool {
	const protecting = volumeutil.PVCProtectionFinalizer
	if c.DeletionTimestamp != nil || c.Status.Phase != corev1.ClaimBound || slices.Contains(c.Finalizers, protecting) {
		return false
	}
	c.Finalizers = append(c.Finalizers, protecting)
	return true
}

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "persistentvolumeclaim-protection-controller",
		Plugin:     pvcprotection.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers.Core().V1()
			c, err := upstream.NewPVCProtectionController(klog.FromContext(e.Context), f.PersistentVolumeClaims(), f.Pods(),
				e.Client)
			return &native.Made{
				Controller: c, Process: func(ctx context.Context) bool { return take(c) && process(c, ctx) },
			}, err
		},
		World:  objects,
		Deeds:  append(claimDeeds(), podDeeds()...),
		Faults: []string{"update persistentvolumeclaims", "update persistentvolumeclaims/status"},
		Gates:  []string{"PersistentVolumeClaimUnusedSinceTime"},
	}
}

// claimDeeds are what others do to claims.
func claimDeeds() []differential.Deed {
	return []differential.Deed{
		differential.Appear(func(r *world.Rand) runtime.Object { return claim(r, world.Of(r, names...), nil) }),
		differential.Vary(claims, "another phase", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { phase(r, c) }),
		differential.Vary(claims, "other conditions", func(r *world.Rand, c *corev1.PersistentVolumeClaim) {
			conditions(r, c)
		}),
		differential.Vary(claims, "other finalizers", func(r *world.Rand, c *corev1.PersistentVolumeClaim) {
			finalizers(r, c)
		}),
		differential.Vary(claims, "other labels", func(r *world.Rand, c *corev1.PersistentVolumeClaim) {
			c.Labels = r.Labels("web")
		}),
		differential.Vary(claims, "other owners", func(r *world.Rand, c *corev1.PersistentVolumeClaim) { owned(r, c, nil) }),
		differential.Delete(claims),
		differential.Delete(claims),
		differential.Delete(claims),
		differential.Vanish(claims),
	}
}

// podDeeds are what others do to pods.
func podDeeds() []differential.Deed {
	return []differential.Deed{
		differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, world.Of(r, podNames...)) }),
		differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, world.Of(r, podNames...)) }),
		differential.Vary(differential.Pods, "a node", func(_ *world.Rand, p *corev1.Pod) {
			p.Spec.NodeName, p.Spec.SchedulingGates = "node-1", nil
		}),
		differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { live(r, p) }),
		differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { live(r, p) }),
		differential.Vary(differential.Pods, "the end", func(r *world.Rand, p *corev1.Pod) { end(r, p) }),
		differential.Delete(differential.Pods),
		differential.Vanish(differential.Pods),
		differential.Vanish(differential.Pods),
		differential.Vanish(differential.Pods),
	}
}

var (
	podNames    = []string{"web", "db", "web-db"}
	volumeNames = []string{"scratch", "db-scratch"}
	// names of claims are those of pods' volumes, too.
	names = []string{"data", "logs", "web-scratch", "web-db-scratch", "db-scratch"}
)

// objects are claims in any state of their lives, and pods that use them, or others.
func objects(r *world.Rand) (all []runtime.Object) {
	all = append(all, r.Namespace("other"))
	var pods []*corev1.Pod
	for _, name := range podNames {
		if !r.One(3) {
			p := pod(r, name)
			all, pods = append(all, p), append(pods, p)
		}
	}
	for _, name := range names {
		if !r.One(3) {
			all = append(all, claim(r, name, pods))
		}
	}
	return all
}

func claim(r *world.Rand, name string, pods []*corev1.Pod) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace(r), UID: r.UID(), CreationTimestamp: r.Ago(3000),
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")},
			},
		},
	}
	phase(r, c)
	conditions(r, c)
	finalizers(r, c)
	owned(r, c, pods)
	if r.One(3) {
		r.End(c)
	}
	return c
}

func namespace(r *world.Rand) string {
	if r.One(6) {
		return "other"
	}
	return world.Namespace
}

func phase(r *world.Rand, c *corev1.PersistentVolumeClaim) {
	c.Status.Phase = world.Of(r, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimPending,
		corev1.ClaimLost)
	if c.Status.Phase == corev1.ClaimBound && r.One(2) {
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}
	}
}

// conditions has a claim say something of its use, which may be wrong, or nothing, among others.
func conditions(r *world.Rand, c *corev1.PersistentVolumeClaim) {
	c.Status.Conditions = nil
	add := func(t corev1.PersistentVolumeClaimConditionType, reason string) {
		n := corev1.PersistentVolumeClaimCondition{
			Type: t, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse), LastTransitionTime: r.Ago(2000),
			Reason: reason,
		}
		if r.One(8) {
			n.Status = corev1.ConditionUnknown
		}
		if r.One(5) {
			n.LastProbeTime = r.Ago(1000)
		}
		c.Status.Conditions = append(c.Status.Conditions, n)
	}

	if r.One(3) {
		add(corev1.PersistentVolumeClaimResizing, "Grown")
	}
	if !r.One(3) {
		add(corev1.PersistentVolumeClaimUnused, world.Of(r, "NoPodsUsingPVC", "PodUsingPVC", ""))
	}
	if r.One(5) {
		add(corev1.PersistentVolumeClaimFileSystemResizePending, "")
	}
}

// finalizers are some, with the protecting one among them in most cases, in any order. Something keeps a claim that is
// being deleted, as a server would have it.
func finalizers(r *world.Rand, c *corev1.PersistentVolumeClaim) {
	const protecting, other = volumeutil.PVCProtectionFinalizer, "example.com/stay"
	c.Finalizers = world.Of(r, []string{protecting}, []string{protecting}, []string{other, protecting},
		[]string{protecting, other})
	if r.One(10) {
		c.Finalizers = world.Of(r, nil, []string{other})
	}
	if c.DeletionTimestamp != nil && len(c.Finalizers) == 0 {
		c.Finalizers = []string{other}
	}
}

// owned has a claim be one of these pods', as its controller or not, or nobody's.
func owned(r *world.Rand, c *corev1.PersistentVolumeClaim, pods []*corev1.Pod) {
	c.OwnerReferences = nil
	if len(pods) > 0 && !r.One(3) {
		p := world.Of(r, pods...)
		c.OwnerReferences = append(c.OwnerReferences, world.Owner("v1", "Pod", p.Name, p.UID))
		if r.One(5) {
			c.OwnerReferences[0].Controller = world.Maybe(r, false)
		}
		if !r.One(4) {
			c.Namespace, c.Name = p.Namespace, p.Name+"-"+world.Of(r, volumeNames...)
		}
	}
	if r.One(5) {
		o := world.Owner("v1", "ConfigMap", "settings", r.UID())
		o.Controller = nil
		c.OwnerReferences = append(c.OwnerReferences, o)
	}
}

func pod(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	p.Namespace = namespace(r)
	p.Spec.Volumes = nil
	for _, v := range volumeNames {
		if !r.One(4) {
			p.Spec.Volumes = append(p.Spec.Volumes, volume(r, v))
		}
	}
	live(r, p)
	if r.One(4) {
		end(r, p)
	}
	return p
}

// volume is one of a claim in most cases.
func volume(r *world.Rand, name string) corev1.Volume {
	v := corev1.Volume{Name: name}
	switch r.IntN(6) {
	case 0:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case 1, 2:
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")},
				},
			},
		}}
	default:
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: world.Of(r, names...)}
	}
	return v
}

// live gives a pod a status as kubelets leave it, with containers in any state.
func live(r *world.Rand, p *corev1.Pod) {
	r.Live(p)
	all := func(containers []corev1.Container) (status []corev1.ContainerStatus) {
		for _, c := range containers {
			s := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
			switch r.IntN(3) {
			case 0:
				s.State.Running = &corev1.ContainerStateRunning{StartedAt: world.Of(r, r.Ago(900), metav1.Time{})}
			case 1:
				s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(world.Of(r, 0, 1))}
			case 2:
				s.State.Waiting = &corev1.ContainerStateWaiting{Reason: world.Of(r, "", "ContainerCreating")}
			}
			status = append(status, s)
		}
		return status
	}
	p.Status.ContainerStatuses, p.Status.InitContainerStatuses = nil, nil
	if !r.One(4) {
		p.Status.ContainerStatuses, p.Status.InitContainerStatuses = all(p.Spec.Containers), all(p.Spec.InitContainers)
	}
}

// end has a pod be deleted, with time left or not.
func end(r *world.Rand, p *corev1.Pod) {
	r.End(p)
	p.DeletionGracePeriodSeconds = world.Ptr[int64](world.Of[int64](r, 0, 0, 30))
}
