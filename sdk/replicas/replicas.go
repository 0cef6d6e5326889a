// Package replicas keeps a ReplicaSet's number of pods, for controllers that differ in which pods a scale-down takes.
package replicas

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// burst is how many pods one sync creates or deletes at most; the pods' own events bring the next sync.
const burst = 500

// Sets declares the view of the sets that keys name, with what [Sync] reads of them.
func Sets() *sdk.View[appsv1.ReplicaSet, *appsv1.ReplicaSet] {
	return sdk.Key(appsv1.ReplicaSets).
		Fields("metadata.generation", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
					"metadata.ownerReferences.controller", "spec", "status").
		QuietOn(abi.QuietOwn) // a status that says what it should
}

// PodsOf declares the view of a set's pods and of the orphans that it may adopt, with what [Sync] reads of them.
func PodsOf(sets sdk.AnyView) *sdk.View[corev1.Pod, *corev1.Pod] {
	return sdk.Select(corev1.Pods, sdk.KeyNamespace(),
		sdk.Any(sdk.ControlledBy(sets), sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
			"metadata.ownerReferences.controller",
			"status.phase", "status.conditions.type", "status.conditions.status", "status.conditions.lastTransitionTime")
}

// Writes are the rights that [Sync] needs.
func Writes() sdk.Writes {
	return sdk.Writes{corev1.Pods.Verbs("create", "delete", "patch"),
		appsv1.ReplicaSets.Verbs("get"), appsv1.ReplicaSets.Sub("status", "update"),
		appsv1.ReplicaSets.Sub("finalizers", "update")}
}

// Terminating is the setting that decides whether [Sync] counts terminating pods in the status. A plugin that doesn't
// declare it has the default.
var Terminating = sdk.Gate("DeploymentReplicaSetTerminatingReplicas", true,
	"Whether terminatingReplicas is told in the status.")

// Sync claims the set's pods, creates what is missing or deletes what is too much, and writes the status of the pods
// that it found, whether or not that worked (pkg/controller/replicaset). It chooses by victims which n of the active
// pods go, n being less than their number; victims may put the list in another order.
func Sync(c *sdk.Call, rs *appsv1.ReplicaSet, pods []*corev1.Pod,
	victims func(active []*corev1.Pod, n int) []*corev1.Pod) error {
	if err := labels.Check(rs.Spec.Selector); err != nil {
		c.Log("not synced: " + err.Error())
		return nil
	}

	selected := func(p *corev1.Pod) bool { return labels.Selects(rs.Spec.Selector, p.Labels) }
	active, err := owner.Claim(c, rs, pod.Filter(pods, pod.Active), selected)
	if err != nil {
		return err
	}

	terminating := 0
	for _, p := range pods {
		if pod.Terminating(p) && metav1.IsControlledBy(&p.ObjectMeta, &rs.ObjectMeta) && selected(p) {
			terminating++
		}
	}

	var failure error
	if !rs.Deleting() {
		failure = scalePods(c, rs, active, victims)
	}
	status := observe(c, rs, active, terminating, failure)
	if !sameStatus(&status, &rs.Status) {
		s := sdk.Clone(rs)
		s.Status = status
		c.Add(sdk.UpdateStatus(s))
	}

	if rs.Spec.MinReadySeconds > 0 && status.ReadyReplicas != status.AvailableReplicas {
		// A pod becomes available without an event.
		wait := pod.NextAvailabilityCheck(active, rs.Spec.MinReadySeconds, c.Now())
		if wait == 0 {
			wait = time.Duration(rs.Spec.MinReadySeconds) * time.Second
		}
		c.After(wait) // also where scaling fails, whose back-off may be long
	}

	return failure
}

// scalePods creates or deletes pods until there are as many as wanted. It is done at once, because the status tells how
// it went.
func scalePods(c *sdk.Call, rs *appsv1.ReplicaSet, active []*corev1.Pod,
	victims func([]*corev1.Pod, int) []*corev1.Pod) error {
	switch n := excessPods(rs, active); {
	case n < 0:
		create := make([]*corev1.Pod, min(-n, burst))
		p := pod.New(rs, &rs.Spec.Template)
		for i := range create {
			create[i] = p
		}
		return pod.Create(c, rs, create)
	case n > 0:
		if n = min(n, burst); n < len(active) {
			active = victims(active, n)
		}
		return pod.Delete(c, rs, active)
	}
	return nil
}

// excessPods returns how many pods there are too many.
func excessPods(rs *appsv1.ReplicaSet, active []*corev1.Pod) int {
	want := 1 // the API's default
	if rs.Spec.Replicas != nil {
		want = int(*rs.Spec.Replicas)
	}
	return len(active) - want
}
