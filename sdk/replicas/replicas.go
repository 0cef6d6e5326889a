// Package replicas keeps a set's number of pods, for controllers that differ in which pods a scale-down takes. A set is
// a ReplicaSet, or an object of another kind that says what a ReplicaSet says.
package replicas

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// burst is how many pods one sync creates or deletes at most; the pods' own events bring the next sync.
const burst = 500

// Sets declares the view of the ReplicaSets that keys name, with what [Sync] reads of them.
func Sets() *sdk.View[appsv1.ReplicaSet, *appsv1.ReplicaSet] { return SetsOf(appsv1.ReplicaSets) }

// SetsOf declares the view of the sets that keys name, with what [Manage] reads of them.
func SetsOf[O any, P resource.Pointer[O]](sets resource.Of[O]) *sdk.View[O, P] {
	return sdk.Key[O, P](sets).
		Fields("metadata.generation", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
					"metadata.ownerReferences.controller", "spec", "status").
		QuietOn(abi.QuietOwn) // a status that says what it should
}

// PodsOf declares the view of a set's pods and of the orphans that it may adopt, with what [Manage] reads of them.
func PodsOf(sets sdk.AnyView) *sdk.View[corev1.Pod, *corev1.Pod] {
	return sdk.Select(corev1.Pods, sdk.KeyNamespace(),
		sdk.Any(sdk.ControlledBy(sets), sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
			"metadata.ownerReferences.controller",
			"status.phase", "status.conditions.type", "status.conditions.status", "status.conditions.lastTransitionTime").
		Fields(refusalFields...).Quiet(refusalFields...)
}

// Writes are the rights that [Sync] needs.
func Writes() sdk.Writes { return WritesOf(&appsv1.ReplicaSets.Info) }

// WritesOf are the rights that [Manage] needs, and the update of the sets' status.
func WritesOf(sets *resource.Info) sdk.Writes {
	return sdk.Writes{corev1.Pods.Verbs("create", "delete", "patch"),
		sets.Verbs("get"), sets.Sub("status", "update"), sets.Sub("finalizers", "update")}
}

// Terminating is the setting that decides whether [Sync] counts terminating pods in the status. A plugin that doesn't
// declare it has the default.
var Terminating = sdk.Gate("DeploymentReplicaSetTerminatingReplicas", true,
	"Whether the status has terminatingReplicas.")

// Victims chooses which n of a set's active pods go, n being less than their number. It may put the list in another
// order.
type Victims func(active []*corev1.Pod, n int) []*corev1.Pod

// Sync claims the ReplicaSet's pods, creates what is missing or deletes what is too much, and writes the status of the
// pods that it found, whether or not that worked (pkg/controller/replicaset).
func Sync(c *sdk.Call, rs *appsv1.ReplicaSet, pods []*corev1.Pod, victims Victims) error {
	status, changed, err := Manage(c, rs, &Set{Spec: &rs.Spec, Status: &rs.Status, Terminating: Terminating.On(c)}, pods,
		victims)
	if changed {
		s := sdk.Clone(rs)
		s.Status = status
		c.Add(sdk.UpdateStatus(s))
	}
	return err
}

// Set is what an object says of the pods that it wants and has, in the terms of a ReplicaSet.
type Set struct {
	Spec   *appsv1.ReplicaSetSpec
	Status *appsv1.ReplicaSetStatus
	// Terminating is that the status counts terminating pods.
	Terminating bool
}

// Manage does for an object that is a set, o, what [Sync] does for a ReplicaSet, but leaves it to the caller to write
// the status: changed reports whether it isn't what it was.
func Manage[O any, P resource.Pointer[O]](c *sdk.Call, o P, s *Set, pods []*corev1.Pod,
	victims Victims) (status appsv1.ReplicaSetStatus, changed bool, _ error) {
	if err := labels.Check(s.Spec.Selector); err != nil {
		c.Log("not synced: invalid spec.selector: " + err.Error())
		return status, false, nil
	}

	selected := func(p *corev1.Pod) bool { return labels.Selects(s.Spec.Selector, p.Labels) }
	active, err := owner.Claim(c, o, pod.Filter(pods, pod.Active), selected)
	if err != nil {
		return status, false, err
	}

	terminating := 0
	for _, p := range pods {
		if pod.Terminating(p) && metav1.IsControlledBy(&p.ObjectMeta, o.GetObjectMeta()) && selected(p) {
			terminating++
		}
	}

	var wait time.Duration
	if slices.ContainsFunc(pods, refused) {
		wait = refusalWait(pod.Filter(pods, func(p *corev1.Pod) bool {
			return metav1.IsControlledBy(&p.ObjectMeta, o.GetObjectMeta()) && selected(p)
		}), c.Now())
	}
	status, err = s.manageClaimed(c, o, active, terminating, wait, victims)
	return status, !sameStatus(&status, s.Status), err
}

// manageClaimed is the part of [Manage] that is the same code for sets of all kinds.
func (s *Set) manageClaimed(c *sdk.Call, o sdk.Object, active []*corev1.Pod, terminating int,
	wait time.Duration, victims Victims) (appsv1.ReplicaSetStatus, error) {
	var failure error
	switch {
	case o.GetObjectMeta().Deleting():
	case wait > 0 && s.excessPods(active) < 0:
		c.After(wait)
	default:
		failure = s.scalePods(c, o, active, victims)
	}
	status := s.observe(c, o.GetObjectMeta().Generation, active, terminating, failure)

	if minReady := s.Spec.MinReadySeconds; minReady > 0 && status.ReadyReplicas != status.AvailableReplicas {
		// A pod becomes available without an event.
		wait := pod.NextAvailabilityCheck(active, minReady, c.Now())
		if wait == 0 {
			wait = time.Duration(minReady) * time.Second
		}
		c.After(wait) // also where scaling fails, whose back-off may be long
	}

	return status, failure
}

// scalePods creates or deletes pods until there are as many as wanted. It is done at once, because the status tells how
// it went.
func (s *Set) scalePods(c *sdk.Call, o sdk.Object, active []*corev1.Pod, victims Victims) error {
	switch n := s.excessPods(active); {
	case n < 0:
		create := make([]*corev1.Pod, min(-n, burst))
		p := pod.New(o, &s.Spec.Template)
		for i := range create {
			create[i] = p
		}
		return pod.Create(c, o, create)
	case n > 0:
		if n = min(n, burst); n < len(active) {
			active = victims(active, n)
		}
		return pod.Delete(c, o, active)
	}
	return nil
}

// excessPods returns how many pods there are too many.
func (s *Set) excessPods(active []*corev1.Pod) int {
	want := 1 // the API's default
	if s.Spec.Replicas != nil {
		want = int(*s.Spec.Replicas)
	}
	return len(active) - want
}
