package replicaset

import (
	"context"
	"fmt"
	"testing"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/windlass-dev/windlass/differential"
	"github.com/windlass-dev/windlass/differential/native"
	"github.com/windlass-dev/windlass/differential/world"
	"github.com/windlass-dev/windlass/plugins/replicaset"
)

//go:linkname process k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).processNextWorkItem
func process(*upstream.ReplicaSetController, context.Context) bool

var sets = appsv1.SchemeGroupVersion.WithResource("replicasets")

func TestAsUpstream(t *testing.T) { differential.Run(t, subject()) }

func TestWakesAsUpstream(t *testing.T) { differential.Wakes(t, subject()) }

func subject() *differential.Subject {
	return &differential.Subject{
		Controller: "replicaset-controller",
		Gates:      []string{"PodDeletionCost", "DeploymentReplicaSetTerminatingReplicas"},
		Plugin:     replicaset.Plugin,
		Native: func(e *native.Env) (*native.Made, error) {
			f := e.Informers
			c := upstream.NewReplicaSetController(e.Context, f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), e.Client, 500)
			return &native.Made{Controller: c, Process: func(ctx context.Context) bool { return process(c, ctx) }}, nil
		},
		World: objects,
		Deeds: []differential.Deed{
			differential.Vary(differential.Pods, "a change of the life", func(r *world.Rand, p *corev1.Pod) { r.Live(p) }),
			differential.Vary(differential.Pods, "other labels",
				func(r *world.Rand, p *corev1.Pod) { p.Labels = r.Labels("web") }),
			differential.Delete(differential.Pods),
			differential.Vanish(differential.Pods),
			differential.Appear(func(r *world.Rand) runtime.Object {
				return r.Pod(fmt.Sprintf("new-%d", r.IntN(100)), r.Labels("web"), r.PodSpec())
			}),
			differential.Vary(sets, "another size", func(r *world.Rand, s *appsv1.ReplicaSet) {
				s.Spec.Replicas = world.Ptr(int32(r.IntN(6)))
				s.Generation++
			}),
			differential.Vary(sets, "other ready seconds", func(r *world.Rand, s *appsv1.ReplicaSet) {
				s.Spec.MinReadySeconds = int32(world.Of(r, 0, 30, 600))
				s.Generation++
			}),
			differential.Vary(sets, "another status", func(r *world.Rand, s *appsv1.ReplicaSet) { status(r, s) }),
			differential.Delete(sets),
			differential.Vanish(sets),
		},
		Faults: []string{"create pods", "delete pods", "patch pods", "update replicasets/status"},
		Alike:  alike,

		Explain: strangers,
	}
}

// strangers names the pods that sets' selectors match without their being the sets' own.
func strangers(objects []runtime.Object, _ string) (text string) {
	for _, o := range objects {
		s, ok := o.(*appsv1.ReplicaSet)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector)
		if err != nil {
			panic(err) // the API server lets none in
		}
		for _, o := range objects {
			if p, ok := o.(*corev1.Pod); ok && selector.Matches(labels.Set(p.Labels)) && !metav1.IsControlledBy(p, s) {
				text += fmt.Sprintf("\n%s selects %s, which isn't its own", s.Name, p.Name)
			}
		}
	}
	return text
}

// alike says what the ranking of pods to delete looks at.
func alike(o runtime.Object) string {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return ""
	}
	return p.Spec.NodeName + world.Ranked(p)
}

// objects are some sets, of one owner perhaps, and pods that are theirs, could be, or aren't.
func objects(r *world.Rand) []runtime.Object {
	var all []runtime.Object
	owner := r.UID()
	var made []*appsv1.ReplicaSet
	for i := range 1 + r.IntN(3) {
		s := set(r, fmt.Sprintf("set-%d", i))
		if r.One(3) {
			s.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "Deployment", "web", owner)}
		}
		made, all = append(made, s), append(all, s)
	}
	for i := range r.IntN(8) {
		s := made[r.IntN(len(made))]
		p := r.Pod(fmt.Sprintf("pod-%d", i), r.Labels(s.Spec.Template.Labels["app"]), s.Spec.Template.Spec)
		switch {
		case !r.One(4):
			p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "ReplicaSet", s.Name, s.UID)}
		case r.One(3):
			p.OwnerReferences = []metav1.OwnerReference{world.Owner("apps/v1", "ReplicaSet", s.Name, r.UID())}
		}
		all = append(all, p)
	}
	return all
}

func set(r *world.Rand, name string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": world.Of(r, "web", "db")}
	s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: world.Namespace, UID: r.UID(), Labels: r.Labels("web"), CreationTimestamp: r.Ago(3000),
		Generation: int64(1 + r.IntN(3)),
	}}

	s.Spec.Replicas = world.Maybe(r, int32(r.IntN(6)))
	s.Spec.MinReadySeconds = int32(world.Of(r, 0, 0, 0, 30, 600))
	s.Spec.Template = r.Template(labels)
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": labels["app"]}}
	if r.One(6) {
		s.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "app", Operator: world.Of(r, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpIn),
			Values: []string{"web", "db"},
		}}}
		if s.Spec.Selector.MatchExpressions[0].Operator == metav1.LabelSelectorOpExists {
			s.Spec.Selector.MatchExpressions[0].Values = nil
		}
	}

	if r.One(8) {
		s.Finalizers = []string{"example.com/stay"}
	}
	status(r, s)
	if r.One(10) {
		r.End(s)
	}
	return s
}

func status(r *world.Rand, s *appsv1.ReplicaSet) {
	n := func() int32 { return int32(r.IntN(5)) }
	s.Status = appsv1.ReplicaSetStatus{Replicas: n(), FullyLabeledReplicas: n(), ReadyReplicas: n(),
		AvailableReplicas: n(), TerminatingReplicas: world.Maybe(r, n()), ObservedGeneration: int64(r.IntN(3))}
	if r.One(4) {
		s.Status.Conditions = []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: world.Of(r, corev1.ConditionTrue, corev1.ConditionFalse),
			LastTransitionTime: r.Ago(500),
			Reason:             world.Of(r, "FailedCreate", "FailedDelete"), Message: "no",
		}}
	}
}
