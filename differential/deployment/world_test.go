package deployment

import (
	"fmt"
	"maps"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// The annotations that Deployments and their sets bear.
const (
	revision = "deployment.kubernetes.io/revision"
	history  = "deployment.kubernetes.io/revision-history"
	desired  = "deployment.kubernetes.io/desired-replicas"
	most     = "deployment.kubernetes.io/max-replicas"
)

// objects are one or two Deployments, sets of theirs of several ages, sets that could be theirs and that aren't, and
// pods.
func objects(r *world.Rand) (all []runtime.Object) {
	var made []*appsv1.Deployment
	for i := range 1 + r.IntN(2) {
		d := deploy(r, fmt.Sprintf("web-%d", i))
		made, all = append(made, d), append(all, d)
	}
	for i := range r.IntN(6) {
		d := made[r.IntN(len(made))]
		s := set(r, d, fmt.Sprintf("%s-%d", d.Name, i))
		all = append(all, s)
		for j := range r.IntN(3) {
			all = append(all, pod(r, fmt.Sprintf("%s-%d", s.Name, j), s))
		}
	}
	return all
}

func deploy(r *world.Rand, name string) *appsv1.Deployment {
	app := world.Of(r, "web", "db")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), Labels: r.Labels("web"), CreationTimestamp: r.Ago(3000),
		Generation: int64(1 + r.IntN(3)),
	}}
	d.Spec.Replicas = world.Maybe(r, int32(r.IntN(7)))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	if r.One(8) {
		d.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"}},
		}}
	}
	d.Spec.Template = r.Template(map[string]string{"app": app})
	strategy(r, d)
	limits(r, d)
	d.Spec.Paused = r.One(6)
	annotate(r, d)
	if r.One(8) {
		d.Finalizers = []string{"example.com/stay"}
	}
	status(r, d)
	if r.One(12) {
		r.End(d)
	}
	return d
}

func strategy(r *world.Rand, d *appsv1.Deployment) {
	if r.One(4) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		return
	}
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	if r.One(4) {
		return
	}
	bound := func() *intstr.IntOrString {
		x := world.Of(r, intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromInt32(9),
			intstr.FromString("0%"),
			intstr.FromString("10%"), intstr.FromString("25%"), intstr.FromString("50%"), intstr.FromString("100%"))
		return world.Maybe(r, x)
	}
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: bound(), MaxUnavailable: bound()}
}

func limits(r *world.Rand, d *appsv1.Deployment) {
	d.Spec.MinReadySeconds = int32(world.Of(r, 0, 0, 0, 10, 30))
	d.Spec.RevisionHistoryLimit = world.Of(r, nil, nil, world.Ptr[int32](0), world.Ptr[int32](1), world.Ptr[int32](2),
		world.Ptr[int32](math.MaxInt32))
	d.Spec.ProgressDeadlineSeconds = world.Of(r, nil, nil, world.Ptr[int32](60), world.Ptr[int32](600),
		world.Ptr[int32](math.MaxInt32))
}

func annotate(r *world.Rand, d *appsv1.Deployment) {
	d.Annotations = map[string]string{}
	if !r.One(3) {
		d.Annotations[revision] = world.Of(r, "1", "2", "3", "7", "x", "")
	}
	if r.One(3) {
		d.Annotations["kubernetes.io/change-cause"] = world.Of(r, "a", "b", "")
	}
	if r.One(6) {
		d.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	}
	if r.One(8) {
		d.Annotations[appsv1.DeprecatedRollbackTo] = world.Of(r, "0", "0", "1", "2", "9", "-1")
	}
}

func status(r *world.Rand, d *appsv1.Deployment) {
	upTo := func(n int32) int32 { return int32(r.IntN(int(n) + 1)) }
	n := upTo(6)
	ready := upTo(n)
	collisions := d.Status.CollisionCount
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: int64(r.IntN(4)), Replicas: n, UpdatedReplicas: upTo(n), ReadyReplicas: ready,
		AvailableReplicas:   upTo(ready),
		UnavailableReplicas: upTo(6), TerminatingReplicas: world.Maybe(r, upTo(3)), CollisionCount: collisions,
	}
	if r.One(6) && collisions == nil {
		d.Status.CollisionCount = world.Ptr(upTo(2))
	}

	states := func() corev1.ConditionStatus {
		return world.Of(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)
	}
	add := func(t appsv1.DeploymentConditionType, reason, message string) {
		at := r.Ago(900)
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: t, Status: states(), Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: r.Ago(900),
		})
	}
	if !r.One(3) {
		add(appsv1.DeploymentProgressing, world.Of(r, "NewReplicaSetAvailable", "ReplicaSetUpdated",
			"ProgressDeadlineExceeded", "NewReplicaSetCreated",
			"FoundNewReplicaSet", "ReplicaSetCreateError", "DeploymentPaused", "DeploymentResumed"), "so")
	}

	if !r.One(3) {
		add(appsv1.DeploymentAvailable, world.Of(r, "MinimumReplicasAvailable", "MinimumReplicasUnavailable"),
			"Deployment has minimum availability.")
	}

	if r.One(6) {
		add(appsv1.DeploymentReplicaFailure, world.Of(r, "FailedCreate", "FailedDelete"), "no")
	}
	if r.One(10) {
		add("example.com/Other", "Why", "not")
	}
	r.Shuffle(len(d.Status.Conditions), func(i, j int) {
		d.Status.Conditions[i], d.Status.Conditions[j] = d.Status.Conditions[j], d.Status.Conditions[i]
	})
}

// set returns a set of a Deployment's, of its template or a former one; or one that isn't its own.
func set(r *world.Rand, d *appsv1.Deployment, name string) *appsv1.ReplicaSet {
	hash := name[len(name)-1:]
	s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), CreationTimestamp: r.Ago(world.Of(r, 0, 2, 3000)),
		Generation: int64(1 + r.IntN(3)),
	}}

	d.Spec.Template.DeepCopyInto(&s.Spec.Template)
	if !r.One(3) {
		s.Spec.Template.Spec.Containers[0].Image = world.Of(r, "web:1", "web:2", "web:3", "web")
	}
	if r.One(10) {
		s.Spec.Template.Annotations = map[string]string{"example.com/note": world.Of(r, "a", "b")}
	}

	labels := maps.Clone(d.Spec.Template.Labels)
	if !r.One(5) {
		labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	}

	s.Spec.Template.Labels = labels
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: maps.Clone(labels)}
	s.Labels = maps.Clone(labels)
	if r.One(8) {
		s.Labels = r.Labels(labels["app"])
	}

	s.Spec.Replicas = world.Ptr(int32(world.Of(r, 0, 0, 1, 2, 3, 6)))
	s.Spec.MinReadySeconds = world.Of(r, d.Spec.MinReadySeconds, d.Spec.MinReadySeconds, 5)
	setAnnotations(r, d, s)
	switch {
	case !r.One(6):
		s.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "Deployment", d.Name, d.UID)}
	case r.One(3):
		s.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "Deployment", d.Name, r.UID())}
	case r.One(3):
		s.OwnerReferences = []metav1.OwnerReference{world.Owner("argoproj.io/v1", "Rollout", d.Name, r.UID())}
	}
	if r.One(8) {
		s.Finalizers = []string{"example.com/stay"}
	}

	setStatus(r, s)
	if r.One(10) {
		r.End(s)
	}
	return s
}

func setAnnotations(r *world.Rand, d *appsv1.Deployment, s *appsv1.ReplicaSet) {
	s.Annotations = map[string]string{}
	if !r.One(5) {
		s.Annotations[revision] = world.Of(r, "1", "2", "3", "4", "5", "", "x")
	}
	if r.One(5) {
		s.Annotations[history] = world.Of(r, "1", "1,2", "")
	}
	n := int32(1)
	if d.Spec.Replicas != nil {
		n = *d.Spec.Replicas
	}
	if !r.One(4) {
		s.Annotations[desired] = fmt.Sprint(world.Of(r, n, n, n, n, n, n, 0, 2, 4))
		s.Annotations[most] = fmt.Sprint(world.Of(r, n, n+1, n+2, 0, 5))
	}
	if r.One(12) {
		s.Annotations[world.Of(r, desired, most)] = world.Of(r, "x", "", "-1", "99999999999")
	}
	if r.One(3) {
		s.Annotations["kubernetes.io/change-cause"] = world.Of(r, "a", "b", "")
	}
}

func setStatus(r *world.Rand, s *appsv1.ReplicaSet) {
	n := *s.Spec.Replicas
	if r.One(6) {
		n = int32(r.IntN(7))
	}
	s.Status = appsv1.ReplicaSetStatus{Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		ObservedGeneration: s.Generation}
	if r.One(3) && n > 0 {
		s.Status.ReadyReplicas = int32(r.IntN(int(n) + 1))
		s.Status.AvailableReplicas = s.Status.ReadyReplicas
	}
	if r.One(4) && s.Status.ReadyReplicas > 0 {
		s.Status.AvailableReplicas = int32(r.IntN(int(s.Status.ReadyReplicas) + 1))
	}
	if r.One(5) {
		s.Status.ObservedGeneration = int64(r.IntN(3))
	}
	s.Status.TerminatingReplicas = world.Maybe(r, int32(r.IntN(3)))
	if r.One(8) {
		s.Status.Conditions = []appsv1.ReplicaSetCondition{{
			Type:               world.Of(r, appsv1.ReplicaSetReplicaFailure, appsv1.ReplicaSetReplicaFailure, "Other"),
			Status:             world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
			LastTransitionTime: r.Ago(500), Reason: world.Of(r, "FailedCreate", "FailedDelete"),
			Message: world.Of(r, "no", "never"),
		}}
	}
}

func pod(r *world.Rand, name string, s *appsv1.ReplicaSet) *corev1.Pod {
	p := r.Pod(name, maps.Clone(s.Spec.Template.Labels), s.Spec.Template.Spec)
	switch {
	case !r.One(6):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "ReplicaSet", s.Name, s.UID)}
	case r.One(3):
		p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "ReplicaSet", s.Name, r.UID())}
	}
	return p
}

// deeds are what users, the ReplicaSet controller and kubelets do.
func deeds() []differential.Deed {
	return append(setDeeds(), append(deploymentDeeds(),
		differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
		differential.Delete(differential.Pods),
		differential.Vanish(differential.Pods),
		func(r *world.Rand, _ *api.Cluster) (string, error) {
			n := world.Of(r, 1, 9, 10, 59, 60, 61, 600)
			time.Sleep(time.Duration(n) * time.Second)
			return fmt.Sprintf("%d s pass", n), nil
		},
		differential.Vary(namespaces, "an end that has begun", func(r *world.Rand, n *corev1.Namespace) {
			if n.DeletionTimestamp == nil && r.One(2) {
				n.DeletionTimestamp, n.Status.Phase = world.Ptr(ago(0)), corev1.NamespaceTerminating
			}
		}))...)
}

// everySet is what is done to all sets.
func everySet(what string, f func(*world.Rand, *appsv1.ReplicaSet)) differential.Deed {
	return func(r *world.Rand, c *api.Cluster) (string, error) {
		all, err := c.List(sets)
		for _, o := range all {
			m := o.(*appsv1.ReplicaSet)
			if err == nil {
				err = c.Change(sets, m.Namespace, m.Name, func(o runtime.Object) { f(r, o.(*appsv1.ReplicaSet)) })
			}
		}
		return what, err
	}
}

func setDeeds() []differential.Deed {
	follow := everySet("the sets' controller follows", func(_ *world.Rand, s *appsv1.ReplicaSet) {
		n := *s.Spec.Replicas
		s.Status = appsv1.ReplicaSetStatus{
			Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			TerminatingReplicas: world.Ptr[int32](0), ObservedGeneration: s.Generation,
		}
	})

	return []differential.Deed{
		follow, follow, follow, follow, follow,
		everySet("all sets have another status", setStatus),
		differential.Vary(sets, "another status", func(r *world.Rand, s *appsv1.ReplicaSet) { setStatus(r, s) }),
		differential.Vary(sets, "another size", func(r *world.Rand, s *appsv1.ReplicaSet) {
			s.Spec.Replicas = world.Ptr(int32(r.IntN(7)))
			s.Generation++
		}),
		differential.Vary(sets, "other labels", func(r *world.Rand, s *appsv1.ReplicaSet) { s.Labels = r.Labels("web") }),
		differential.Vary(sets, "another revision", func(r *world.Rand, s *appsv1.ReplicaSet) {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[world.Of(r, revision, desired, most, "example.com/note")] = world.Of(r, "1", "2", "6", "x")
		}),
		differential.Vary(sets, "no owner", func(r *world.Rand, s *appsv1.ReplicaSet) { s.OwnerReferences = nil }),
		differential.Delete(sets),
		differential.Vanish(sets),
	}
}

func deploymentDeeds() []differential.Deed {
	vary := func(what string, f func(*world.Rand, *appsv1.Deployment)) differential.Deed {
		return differential.Vary(deployments, what, func(r *world.Rand, d *appsv1.Deployment) {
			f(r, d)
			d.Generation++
		})
	}

	image := vary("another image", func(r *world.Rand, d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = world.Of(r, "web:1", "web:2", "web:3", "web")
	})
	return []differential.Deed{
		image, image,
		vary("another size", func(r *world.Rand, d *appsv1.Deployment) { d.Spec.Replicas = world.Ptr(int32(r.IntN(7))) }),
		vary("pausing or resuming", func(r *world.Rand, d *appsv1.Deployment) { d.Spec.Paused = !d.Spec.Paused }),
		vary("another strategy", func(r *world.Rand, d *appsv1.Deployment) { varyStrategy(r, d) }),
		vary("other limits", func(r *world.Rand, d *appsv1.Deployment) {
			limits(r, d)
			if d.Spec.ProgressDeadlineSeconds == nil {
				d.Spec.ProgressDeadlineSeconds = world.Ptr[int32](600)
			}
			if d.Spec.RevisionHistoryLimit == nil {
				d.Spec.RevisionHistoryLimit = world.Ptr[int32](10)
			}
		}),
		differential.Vary(deployments, "other annotations", func(r *world.Rand, d *appsv1.Deployment) { annotate(r, d) }),
		differential.Vary(deployments, "a rollback", func(r *world.Rand, d *appsv1.Deployment) {
			if d.Annotations == nil {
				d.Annotations = map[string]string{}
			}
			d.Annotations[appsv1.DeprecatedRollbackTo] = world.Of(r, "0", "1", "2")
		}),
		differential.Vary(deployments, "other labels", func(r *world.Rand,
			d *appsv1.Deployment) {
			d.Labels = r.Labels("web")
		}),
		differential.Vary(deployments, "another status", func(r *world.Rand, d *appsv1.Deployment) { status(r, d) }),
		differential.Delete(deployments),
		differential.Vanish(deployments),
	}
}

// varyStrategy gives a Deployment another strategy with the defaults that a server gives it.
func varyStrategy(r *world.Rand, d *appsv1.Deployment) {
	strategy(r, d)
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	if d.Spec.Strategy.RollingUpdate == nil {
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	u := d.Spec.Strategy.RollingUpdate
	quarter := intstr.FromString("25%")
	if u.MaxSurge == nil {
		u.MaxSurge = &quarter
	}
	if u.MaxUnavailable == nil {
		u.MaxUnavailable = &quarter
	}
	if isZero(u.MaxSurge) && isZero(u.MaxUnavailable) {
		u.MaxSurge = &quarter
	}
}

func isZero(x *intstr.IntOrString) bool {
	return x.IntValue() == 0 && (x.StrVal == "" || x.StrVal == "0%")
}
