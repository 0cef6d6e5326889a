// Package replicaset keeps as many pods of a template running as a ReplicaSet, or a ReplicationController, says.
//
// It compares how many pods of its selector are active with how many are wanted. Missing ones are made in batches that
// double, up to 500 in a sync; those that are too many are deleted in an order in which the least useful go first.
// Orphans that match are adopted, pods that no longer match are let go. A ReplicationController is the same but for its
// selector, its conditions' names and what it counts.
package replicaset

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/pod"
	"github.com/windlass-dev/windlass/sdk/replicas"
)

var (
	sets = replicas.Sets()
	// read when there are too many pods, and only then
	pods = replicas.PodsOf(sets).Fields(pod.RankFields...).Quiet(pod.RankFields...)

	// siblings are the sets of the same owner (the revisions of a deployment), and related their pods: those on one node
	// count as doubled up.
	siblings = sdk.Select(appsv1.ReplicaSets, sdk.KeyNamespace(),
		sdk.Join("controller.uid", sets, "controller.uid")).Named("siblings").Lazy().Quiet()
	related = sdk.Select(corev1.Pods, sdk.KeyNamespace()).Named("related pods").Lazy().AskBy("controller.uid").Quiet()

	deletionCost = sdk.Gate("PodDeletionCost", true,
		"Whether pods with a low controller.kubernetes.io/pod-deletion-cost go first where there are too many.")

	ageRatio = sdk.Histogram("replicaset_controller_sorting_deletion_age_ratio",
		"[ALPHA] The ratio of chosen deleted pod's ages to the current youngest pod's age (at the time). Should be <2. "+
			"The intent of this metric is to measure the rough efficacy of the sorting (and deletion) of pods when "+
			"a replicaset scales down. This only considers Ready pods when calculating and reporting.",
		[]float64{0.25, 0.5, 1, 2, 4, 8})
)

// Plugin is the replicaset module (pkg/controller/replicaset).
var Plugin = &sdk.Plugin{
	Name:        "replicaset",
	Version:     "1.0.0",
	Description: "Keeps as many pods of a template running as a ReplicaSet or a ReplicationController says.",
	Settings:    []*sdk.Setting{deletionCost, replicas.Terminating},
	Metrics: []*sdk.Metric{ageRatio, sdk.Stale("replicaset_controller_stale_sync_skips_total",
		"[ALPHA] Total number of ReplicaSet syncs skipped due to a stale watch cache.")},
	Controllers: []*sdk.Controller{{
		Name:           "replicaset-controller",
		Alias:          "replicaset",
		Queue:          "replicaset",
		ServiceAccount: "replicaset-controller",
		EventSource:    "replicaset-controller",
		Reads:          sdk.Views{sets, pods, siblings, related},
		Writes:         replicas.Writes(),
		Workers:        5,
		Pace:           sdk.StatusPace,
		Sync:           sync,
	}, controller},
}

func sync(c *sdk.Call) error {
	rs, ok := sets.Get(c)
	if !ok {
		return nil
	}
	return replicas.Sync(c, rs, pods.List(c), func(active []*corev1.Pod, n int) []*corev1.Pod {
		return leastUseful(c, active, neighbours(c, rs), n)
	})
}

// leastUseful returns which n of the active pods go first. Those that share a node with related ones count as doubled
// up.
func leastUseful(c *sdk.Call, active, related []*corev1.Pod, n int) []*corev1.Pod {
	rank := pod.Rank
	if !deletionCost.On(c) {
		rank = pod.RankWithoutCost
	}
	rank(active, related, c.Now())
	observeAges(c, active, n)
	return active[:n]
}

// neighbours are the pods of all sets that have the same owner. Pods are taken by whom they belong to, not by the sets'
// selectors: that is what the ranking means, and an index finds them.
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
