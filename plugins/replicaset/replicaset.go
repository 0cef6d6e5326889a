// Package replicaset keeps as many pods of a template running as a ReplicaSet says.
package replicaset

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

var (
	sets = sdk.Key(appsv1.ReplicaSets).
		Fields("metadata.generation", "metadata.deletionTimestamp", "metadata.ownerReferences.uid", "metadata.ownerReferences.controller", "spec", "status").
		QuietOn(abi.QuietOwn) // a status that says what it should
	pods = sdk.Select(corev1.Pods, sdk.KeyNamespace(), sdk.Any(sdk.ControlledBy(sets), sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.deletionTimestamp", "metadata.ownerReferences.uid", "metadata.ownerReferences.controller",
			"status.phase", "status.conditions.type", "status.conditions.status", "status.conditions.lastTransitionTime").
		Fields(ranking...).Quiet(ranking...)

	// ranking is read when there are too many pods, and only then.
	ranking = []string{"metadata.creationTimestamp", "metadata.annotations[" + corev1.PodDeletionCost + "]", "spec.nodeName",
		"spec.initContainers.name", "spec.initContainers.restartPolicy", "status.containerStatuses.restartCount",
		"status.initContainerStatuses.name", "status.initContainerStatuses.restartCount"}

	// siblings are the sets of the same owner (the revisions of a deployment), and related their pods: those on one node count as doubled up.
	siblings = sdk.Select(appsv1.ReplicaSets, sdk.KeyNamespace(), sdk.Join("controller.uid", sets, "controller.uid")).Named("siblings").Lazy().Quiet()
	related  = sdk.Select(corev1.Pods, sdk.KeyNamespace()).Named("related pods").Lazy().AskBy("controller.uid").Quiet()

	ageRatio = sdk.Histogram("replicaset_controller_sorting_deletion_age_ratio",
		"Age of the ready pods that a scale-down deletes, as a multiple of the youngest ready pod's age. Should be below 2.", []float64{0.25, 0.5, 1, 2, 4, 8})
)

// Plugin is the replicaset module (pkg/controller/replicaset).
var Plugin = &sdk.Plugin{
	Name:        "replicaset",
	Version:     "1.0.0",
	Description: "Keeps as many pods of a template running as a ReplicaSet says.",
	Metrics:     []*sdk.Metric{ageRatio, sdk.Stale("replicaset_controller_stale_sync_skips_total", "Total number of ReplicaSet syncs skipped due to a stale watch cache.")},
	Controllers: []*sdk.Controller{{
		Name:           "replicaset-controller",
		Alias:          "replicaset",
		Queue:          "replicaset",
		ServiceAccount: "replicaset-controller",
		EventSource:    "replicaset-controller",
		Reads:          sdk.Views{sets, pods, siblings, related},
		Writes: sdk.Writes{corev1.Pods.Verbs("create", "delete", "patch"),
			appsv1.ReplicaSets.Verbs("get"), appsv1.ReplicaSets.Sub("status", "update"), appsv1.ReplicaSets.Sub("finalizers", "update")},
		Workers: 5,
		Sync:    sync,
	}},
}

// sync claims the pods, creates what is missing or deletes what is too much, and writes the status of the pods that it found, whether or not that worked.
func sync(c *sdk.Call) error {
	rs, ok := sets.Get(c)
	if !ok {
		return nil
	}
	if err := labels.Check(rs.Spec.Selector); err != nil {
		c.Log("not synced: " + err.Error())
		return nil
	}
	selected := func(p *corev1.Pod) bool { return labels.Selects(rs.Spec.Selector, p.Labels) }
	active, err := owner.Claim(c, rs, pod.Filter(pods.List(c), pod.Active), selected)
	if err != nil {
		return err
	}
	terminating := 0
	for _, p := range pods.List(c) {
		if pod.Terminating(p) && metav1.IsControlledBy(&p.ObjectMeta, &rs.ObjectMeta) && selected(p) {
			terminating++
		}
	}
	var failure error
	if !rs.Deleting() {
		failure = scale(c, rs, active)
	}
	status := observe(c, rs, active, terminating, failure)
	if !same(&status, &rs.Status) {
		s := sdk.Clone(rs)
		s.Status = status
		c.Add(sdk.UpdateStatus(s))
	}
	if failure == nil && rs.Spec.MinReadySeconds > 0 && status.ReadyReplicas != status.AvailableReplicas {
		// A pod becomes available without an event.
		wait := pod.NextAvailabilityCheck(active, rs.Spec.MinReadySeconds, c.Now())
		if wait == 0 {
			wait = time.Duration(rs.Spec.MinReadySeconds) * time.Second
		}
		return c.After(wait)
	}
	return failure
}

// scale creates or deletes pods until there are as many as wanted. It is done at once, because the status tells how it went.
func scale(c *sdk.Call, rs *appsv1.ReplicaSet, active []*corev1.Pod) error {
	switch n := excess(rs, active); {
	case n < 0:
		create := make([]*corev1.Pod, min(-n, burst))
		p := pod.New(rs, &rs.Spec.Template)
		for i := range create {
			create[i] = p
		}
		return pod.Create(c, rs, create)
	case n > 0:
		return pod.Delete(c, rs, victims(c, rs, active, min(n, burst)))
	}
	return nil
}

// excess is how many pods there are too many.
func excess(rs *appsv1.ReplicaSet, active []*corev1.Pod) int {
	want := 1 // the API's default
	if rs.Spec.Replicas != nil {
		want = int(*rs.Spec.Replicas)
	}
	return len(active) - want
}

// victims chooses the n pods that can best be spared.
func victims(c *sdk.Call, rs *appsv1.ReplicaSet, active []*corev1.Pod, n int) []*corev1.Pod {
	if n == len(active) {
		return active
	}
	pod.Rank(active, neighbours(c, rs), c.Now())
	observeAges(c, active, n)
	return active[:n]
}

// neighbours are the pods of all sets that have the same owner. Pods are taken by whom they belong to, not by the sets' selectors: that is what the ranking means, and an
// index finds them.
func neighbours(c *sdk.Call, rs *appsv1.ReplicaSet) []*corev1.Pod {
	if metav1.GetControllerOf(&rs.ObjectMeta) == nil {
		return nil
	}
	var uids []string
	for _, s := range siblings.List(c) {
		uids = append(uids, string(s.UID))
	}
	return related.Ask(c, abi.Ask{Namespace: rs.Namespace, Path: "controller.uid", Values: uids})
}

// observeAges tells how much older the first n pods are than the youngest of all, where ready.
func observeAges(c *sdk.Call, pods []*corev1.Pod, n int) {
	age := func(p *corev1.Pod) time.Duration { return c.Now().Sub(p.CreationTimestamp) / time.Millisecond }
	youngest := time.Duration(-1)
	for _, p := range pods {
		if a := age(p); pod.Ready(p) && a > 0 && (youngest < 0 || a < youngest) {
			youngest = a
		}
	}
	for _, p := range pods[:n] {
		if youngest > 0 && pod.Ready(p) {
			ageRatio.Add(c, float64(age(p)/youngest)) // in whole numbers, as upstream's
		}
	}
}
