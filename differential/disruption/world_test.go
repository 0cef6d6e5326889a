package disruption

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/world"
)

var names = []string{"web", "front", "all"}

var podDeeds = []differential.Deed{
	differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { live(r, p) }),
	differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { live(r, p) }),
	differential.Vary(differential.Pods, "other labels",
		func(r *world.Rand, p *corev1.Pod) { p.Labels = r.Labels("web") }),
	differential.Vary(differential.Pods, "another owner", func(r *world.Rand, p *corev1.Pod) { own(r, p) }),
	differential.Vary(differential.Pods, "the end", func(r *world.Rand, p *corev1.Pod) { r.End(p) }),
	differential.Delete(differential.Pods),
	differential.Vanish(differential.Pods),
	differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, fmt.Sprintf("new-%d", r.IntN(9))) }),
	differential.Appear(func(r *world.Rand) runtime.Object { return pod(r, fmt.Sprintf("new-%d", r.IntN(9))) }),
}

// owned is something that controls pods, by the name that its pods refer to.
type owned struct {
	apiVersion, kind, name string
	uid                    types.UID
}

// owners are those of a world's pods, of which some are there.
var owners = []owned{
	{"apps/v1", "ReplicaSet", "web-1", "00000000-0000-4000-8000-0000000000a1"},
	{"apps/v1", "ReplicaSet", "web-2", "00000000-0000-4000-8000-0000000000a2"},
	{"apps/v1", "ReplicaSet", "bare", "00000000-0000-4000-8000-0000000000a3"},
	{"apps/v1", "StatefulSet", "db", "00000000-0000-4000-8000-0000000000a4"},
	{"v1", "ReplicationController", "old", "00000000-0000-4000-8000-0000000000a5"},
}

var deploymentOf = owned{"apps/v1", "Deployment", "web", "00000000-0000-4000-8000-0000000000a6"}

// strangers are owners of kinds that have no lister upstream: with a scale, without one, and unknown.
var strangers = []owned{
	deploymentOf,
	{"apps/v1", "DaemonSet", "agent", "00000000-0000-4000-8000-0000000000b1"},
	{"batch/v1", "Job", "once", "00000000-0000-4000-8000-0000000000b2"},
	{"v1", "Node", "node-0", "00000000-0000-4000-8000-0000000000b3"},
	{"example.com/v1", "Crew", "crew", "00000000-0000-4000-8000-0000000000b4"},
	{"apps/v1beta7", "ReplicaSet", "bare", "00000000-0000-4000-8000-0000000000b5"},
}

// objects are owners, their pods, pods of nobody's, and budgets that select some of them.
func objects(r *world.Rand) (all []runtime.Object) {
	all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: r.UID()}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "other", UID: r.UID()},
			AutomountServiceAccountToken: world.Ptr(false)})
	template := r.Template(map[string]string{"app": "web"})
	selects := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, o := range owners {
		if r.One(8) {
			continue
		}
		m := metadata(r, o)
		switch o.kind {
		case "ReplicaSet":
			if o.name != "bare" {
				d := deploymentOf
				switch r.IntN(12) {
				case 0:
					d.apiVersion = "example.com/v1"
				case 1:
					d.kind = "Rollout"
				case 2:
					d.uid = r.UID()
				case 3:
					d.apiVersion = "extensions/v1beta1"
				case 4:
					d.name = "gone"
				}
				m.OwnerReferences = []metav1.OwnerReference{d.ref()}
			}
			all = append(all, &appsv1.ReplicaSet{ObjectMeta: m,
				Spec: appsv1.ReplicaSetSpec{Replicas: replicas(r), Selector: selects, Template: template}})
		case "StatefulSet":
			all = append(all, &appsv1.StatefulSet{ObjectMeta: m,
				Spec: appsv1.StatefulSetSpec{Replicas: replicas(r), Selector: selects, Template: template, ServiceName: "db"}})
		case "ReplicationController":
			all = append(all, &corev1.ReplicationController{ObjectMeta: m, Spec: corev1.ReplicationControllerSpec{
				Replicas: replicas(r), Selector: map[string]string{"app": "web"}, Template: &template}})
		}
	}

	if !r.One(8) {
		all = append(all, &appsv1.Deployment{ObjectMeta: metadata(r, deploymentOf),
			Spec: appsv1.DeploymentSpec{Replicas: replicas(r), Selector: selects, Template: template}})
	}
	if r.One(2) {
		all = append(all, &appsv1.DaemonSet{ObjectMeta: metadata(r, strangers[1]),
			Spec: appsv1.DaemonSetSpec{Selector: selects, Template: template}})
	}
	if r.One(2) {
		once := r.Template(map[string]string{"app": "web"})
		once.Spec.RestartPolicy = corev1.RestartPolicyNever
		all = append(all, &batchv1.Job{ObjectMeta: metadata(r, strangers[2]), Spec: batchv1.JobSpec{Template: once}})
	}

	strange := r.One(4)
	for i := range r.IntN(8) {
		p := pod(r, fmt.Sprintf("pod-%d", i))
		if strange && r.One(3) {
			p.OwnerReferences = []metav1.OwnerReference{world.Of(r, strangers...).ref()}
		}
		all = append(all, p)
	}
	for _, name := range names[:1+r.IntN(len(names))] {
		all = append(all, budget(r, name))
	}
	return all
}

func metadata(r *world.Rand, o owned) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: o.name, Namespace: world.Namespace, UID: o.uid, CreationTimestamp: r.Ago(3000), Generation: 1}
	if r.One(12) { // another one of that name
		m.UID = r.UID()
	}
	return m
}

func (o owned) ref() metav1.OwnerReference { return world.Owner(o.apiVersion, o.kind, o.name, o.uid) }

func replicas(r *world.Rand) *int32 { return world.Ptr(int32(world.Of(r, 0, 1, 2, 3, 3, 4, 5, 7, 10))) }

// pod is one that is mostly ready and somebody's.
func pod(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	if r.One(12) {
		p.Namespace = "other"
	}
	own(r, p)
	live(r, p)
	return p
}

// own gives a pod an owner, or none.
func own(r *world.Rand, p *corev1.Pod) {
	o := world.Of(r, owners...).ref()
	switch r.IntN(24) {
	case 0:
		o.UID = r.UID()
	case 1:
		o.Name = "gone"
	case 2:
		o.APIVersion = "extensions/v1beta1"
	case 3:
		o.Controller = nil
	case 4:
		o = world.Of(r, strangers...).ref()
	case 5, 6:
		p.OwnerReferences = nil
		return
	}
	p.OwnerReferences = []metav1.OwnerReference{o}
	if r.One(8) {
		p.OwnerReferences = append([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: r.UID()}},
			p.OwnerReferences...)
	}
}

// live gives a pod a status, mostly one that is ready.
func live(r *world.Rand, p *corev1.Pod) {
	r.Live(p)
	if r.One(2) && p.Spec.NodeName != "" {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: r.Ago(900)}}
	}
	if r.One(4) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady,
			Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse)})
	}
}

// targeted is a pod that is mostly said to be about to be disrupted.
func targeted(r *world.Rand, name string) *corev1.Pod {
	p := r.Pod(name, r.Labels("web"), r.PodSpec())
	p.Generation = int64(r.IntN(4))
	target(r, p)
	return p
}

// target gives a pod the condition DisruptionTarget of any age, status and reason, before or behind another one.
func target(r *world.Rand, p *corev1.Pod) {
	t := corev1.PodCondition{Type: corev1.DisruptionTarget,
		Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse,
			corev1.ConditionUnknown),
		Reason: world.Of(r, "EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByPodGC", "DeletionByTaintManager",
			corev1.PodReasonTerminationByKubelet, ""),
		Message: world.Of(r, "", "Eviction API: evicting"), ObservedGeneration: int64(r.IntN(3))}
	if !r.One(8) { // none that is due in a moment: where caches are late such a key may have been due before it is seen
		age := world.Of(r, 0, 30, 60, 100, 110, 120, 121, 150, 240)
		t.LastTransitionTime = metav1.NewTime(r.Ago(0).Add(-time.Duration(age) * time.Second))
	}
	if r.One(6) {
		t.LastProbeTime = r.Ago(240)
	}

	other := corev1.PodCondition{Type: corev1.PodReady, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
		LastTransitionTime: r.Ago(900), Reason: world.Of(r, "", "ContainersNotReady")}
	p.Status.Conditions = world.Of(r, []corev1.PodCondition{t}, []corev1.PodCondition{t, other},
		[]corev1.PodCondition{other, t}, []corev1.PodCondition{other})
}

func budget(r *world.Rand, name string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: world.Namespace, UID: r.UID(),
		CreationTimestamp: r.Ago(3000), Generation: int64(1 + r.IntN(2)), Labels: r.Labels("web")}, Spec: spec(r)}
	if r.One(2) {
		status(r, b)
	}
	if r.One(12) {
		b.Finalizers = []string{"example.com/stay"}
		if r.One(2) {
			r.End(b)
		}
	}
	return b
}

func spec(r *world.Rand) policyv1.PodDisruptionBudgetSpec {
	s := policyv1.PodDisruptionBudgetSpec{Selector: selector(r)}
	amount := world.Of(r, intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(1), intstr.FromInt32(3),
		intstr.FromInt32(100), intstr.FromString("0%"), intstr.FromString("30%"), intstr.FromString("50%"),
		intstr.FromString("67%"), intstr.FromString("100%"))
	switch r.IntN(9) {
	case 0:
	case 1, 2, 3, 4:
		s.MinAvailable = &amount
	default:
		s.MaxUnavailable = &amount
	}
	if r.One(3) {
		s.UnhealthyPodEvictionPolicy = world.Ptr(world.Of(r, policyv1.IfHealthyBudget, policyv1.AlwaysAllow))
	}
	return s
}

// selector is one that selects most pods, some, all or none.
func selector(r *world.Rand) *metav1.LabelSelector {
	labels := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	in := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	return world.Of(r, labels("app", "web"), labels("app", "web"), labels("tier", "front"), labels("tier", "back"),
		in("tier", metav1.LabelSelectorOpNotIn, "front", "x"), in("tier", metav1.LabelSelectorOpDoesNotExist),
		in("app", metav1.LabelSelectorOpIn, "web", "db"), labels("app", "none"), &metav1.LabelSelector{}, nil)
}

// unparsable is a selector that a server once admitted.
func unparsable(r *world.Rand) *metav1.LabelSelector {
	if r.One(3) {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a b"}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: world.Of(r, "Near", metav1.LabelSelectorOpIn)},
	}}
}

// status is anything that could be left of an earlier time.
func status(r *world.Rand, b *policyv1.PodDisruptionBudget) {
	n := func() int32 { return int32(r.IntN(4)) }
	b.Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: n(), DesiredHealthy: n(), ExpectedPods: n(),
		DisruptionsAllowed: n(), ObservedGeneration: int64(r.IntN(3))}
	for range r.IntN(4) {
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		name := world.Of(r, fmt.Sprintf("pod-%d", r.IntN(8)), fmt.Sprintf("new-%d", r.IntN(9)), "gone")
		b.Status.DisruptedPods[name] = r.Ago(240)
	}

	if r.One(3) {
		b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue,
			Reason: "Before", LastTransitionTime: r.Ago(900)})
	}
	if !r.One(3) {
		b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: policyv1.DisruptionAllowedCondition,
			Status:  world.Of(r, metav1.ConditionTrue, metav1.ConditionFalse),
			Reason:  world.Of(r, policyv1.SufficientPodsReason, policyv1.InsufficientPodsReason, policyv1.SyncFailedReason),
			Message: world.Of(r, "", "something"), ObservedGeneration: int64(r.IntN(3)), LastTransitionTime: r.Ago(900)})
	}
}
