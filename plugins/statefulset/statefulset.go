// Package statefulset gives each pod of a StatefulSet a name and a storage of its own, and creates, updates and deletes
// them in order.
//
// Pods are made in the order of their numbers, each when the one before is ready, and deleted in the reverse order;
// with the policy Parallel all at once. Each has claims of its own, which stay when it is deleted unless the retention
// policy says otherwise. A changed template is rolled out from the last pod to the first, down to the partition, and
// kept as a ControllerRevision.
package statefulset

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// burst is how many pods one sync creates, updates or deletes at most in a set whose policy is Parallel.
const burst = 500

var (
	sets = sdk.Key(appsv1.StatefulSets).
		Fields("metadata.annotations", "metadata.generation", "metadata.deletionTimestamp", "spec", "status").
		QuietOn(abi.QuietOwn) // a status that says what it should
	pods = sdk.Select(corev1.Pods, sdk.KeyNamespace(), sdk.Any(sdk.ControlledBy(sets),
		sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
			"metadata.ownerReferences.controller",
			"spec.volumes.name", "spec.volumes.persistentVolumeClaim.claimName",
			"status.phase", "status.conditions.type", "status.conditions.status", "status.conditions.lastTransitionTime",
			// in which the scheduler says that a pod's claim isn't there
			"status.conditions.reason", "status.conditions.message")

	// revisions wake nobody, and of claims the end of one that the last sync has asked for, which a pod waits for or which
	// was in the way of a new one: what else is missing is missed when the pods or the set change, as upstream does it.
	revisions = sdk.Select(appsv1.ControllerRevisions, sdk.KeyNamespace(),
		sdk.Any(sdk.ControlledBy(sets), sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
			"metadata.ownerReferences.controller",
			"data", "revision").
		Quiet()
	claims = sdk.Select(corev1.PersistentVolumeClaims, sdk.KeyNamespace()).Fields("metadata.ownerReferences",
		"metadata.deletionTimestamp").
		Lazy().QuietOn(abi.QuietStart, abi.QuietAdd, abi.QuietUpdate)
)

var (
	ofSet = []abi.Label{{Name: "statefulset_namespace", From: abi.LabelKeyNamespace},
		{Name: "statefulset_name", From: abi.LabelKeyName},
		{Name: "pod_management_policy", Values: []string{string(appsv1.OrderedReadyPodManagement),
			string(appsv1.ParallelPodManagement)}}}
	allowed = sdk.Gauge("statefulset_controller_statefulset_max_unavailable",
		"[ALPHA] Maximum number of unavailable pods allowed during StatefulSet rolling updates", ofSet...)
	lacking = sdk.Gauge("statefulset_controller_statefulset_unavailable_replicas",
		"[ALPHA] Current number of unavailable pods in StatefulSet", ofSet...)
	skipped = sdk.Stale("statefulset_controller_stale_sync_skips_total",
		"[ALPHA] Total number of StatefulSet syncs skipped due to a stale watch cache.")
)

var (
	severalUnavailable = sdk.Gate("MaxUnavailableStatefulSet", true,
		"Whether a roll-out takes as many pods at once as maxUnavailable says; else it takes one after another.")
	recreation = sdk.Gate("StatefulSetRecreateStrategy", false,
		"Whether the update strategy Recreate is served: all old pods are deleted, and when they are gone new ones made.")
	replaceUnready = sdk.Switch("replace-unready-pods", false,
		"Whether a roll-out in order deletes the first pod that isn't ready and isn't of the newest revision, instead of "+
			"waiting for it: true or false.")
	byMeaning = sdk.Gate("StatefulSetSemanticRevisionComparison", true,
		"Whether a template that says what the newest revision says, in other words, is no update.")
)

// Plugin is the statefulset module (pkg/controller/statefulset).
var Plugin = &sdk.Plugin{
	Name:        "statefulset",
	Version:     "1.0.0",
	Description: "Gives each pod of a StatefulSet a name and a storage of its own, and creates, updates and deletes them in order.",
	Settings:    []*sdk.Setting{severalUnavailable, recreation, byMeaning, replaceUnready},
	Metrics:     []*sdk.Metric{allowed, lacking, skipped},
	Controllers: []*sdk.Controller{{
		Name:           "statefulset-controller",
		Alias:          "statefulset",
		Queue:          "statefulset",
		ServiceAccount: "statefulset-controller",
		EventSource:    "statefulset-controller",
		Reads:          sdk.Views{sets, pods, revisions, claims},
		Writes: sdk.Writes{appsv1.StatefulSets.Verbs("get"), appsv1.StatefulSets.Sub("status", "update"),
			appsv1.StatefulSets.Sub("finalizers", "update"), corev1.Pods.Sub("finalizers", "update"),
			corev1.Pods.Verbs("create", "update", "patch", "delete"),
			corev1.PersistentVolumeClaims.Verbs("create", "update"),
			appsv1.ControllerRevisions.Verbs("get", "create", "update", "patch", "delete")},
		Workers: 5,
		State:   true, // which pod an event has told of
		Sync:    sync,
	}},
}

// rollout is one sync of a StatefulSet.
type rollout struct {
	c   *sdk.Call
	set *appsv1.StatefulSet
	// inOrder: each pod waits for those before it. The policy Parallel waits for nobody.
	inOrder bool

	history         []*appsv1.ControllerRevision // the last one is the newest
	current, update *appsv1.ControllerRevision   // the revision that the set comes from, and the one that it goes to
	collisions      int32                        // of revisions' names

	owned     []*corev1.Pod
	first     int64         // the lowest ordinal
	behind    int64         // the one behind the highest
	replicas  []*corev1.Pod // what there is of them, by ordinal
	condemned []*corev1.Pod // whose ordinal is none of the set's, highest first
	claims    []*corev1.PersistentVolumeClaim
	templates []*corev1.PersistentVolumeClaim // of the claims of each pod

	status appsv1.StatefulSetStatus
}

func sync(c *sdk.Call) error {
	set, ok := sets.Get(c)
	if !ok {
		return nil
	}
	selector := set.Spec.Selector
	if err := labels.Check(selector); err != nil {
		c.Log("not synced: invalid spec.selector: " + err.Error())
		return nil
	}
	r := &rollout{c: c, set: set, templates: claimTemplates(set),
		inOrder: set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement}
	if err := r.adoptHistory(); err != nil {
		return err
	}
	var err error
	r.owned, err = owner.Claim(c, set, pods.List(c), func(p *corev1.Pod) bool {
		parent, _ := parsePodName(p.Name)
		return parent == set.Name && labels.Selects(selector, p.Labels)
	})
	if err != nil {
		return err
	}
	err = r.proceed()
	r.truncateHistory()
	return err
}

// proceed goes on with the set's revisions and pods, and writes the status.
func (r *rollout) proceed() error {
	if err := r.findRevisions(); err != nil {
		return err
	}
	c, set := r.c, r.set
	r.observe(r.owned)
	if r.recreates() && !recreation.On(c) {
		err := sdk.Errors("statefulset ", set.Namespace, "/", set.Name,
			" uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled")
		c.Event(set, corev1.EventTypeWarning, "UnknownStrategy", err.Error())
		return err
	}
	r.sortPods()
	err := r.advance()
	r.writeStatus()
	if seconds := set.Spec.MinReadySeconds; err == nil && seconds > 0 &&
		r.status.ReadyReplicas != r.status.AvailableReplicas {
		// A pod becomes available without an event.
		wait := pod.NextAvailabilityCheck(r.owned, seconds, c.Now())
		if wait == 0 {
			wait = time.Duration(seconds) * time.Second
		}
		return c.After(wait)
	}
	return err
}

// advance takes the set one step nearer to its size, then to its template. What it waits for wakes the key.
func (r *rollout) advance() error {
	if r.set.Deleting() {
		return nil
	}
	r.observe(r.replicas, r.condemned)
	if r.recreates() {
		if wait, err := r.deleteAllOutdated(); wait || err != nil {
			return err
		}
	}

	r.askClaims()
	for _, step := range []func() (wait bool, err error){r.reconcilePods, r.settleCondemned, r.scaleDown} {
		if wait, err := step(); wait || err != nil {
			return err
		}
	}
	switch {
	case r.recreates(), r.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		return nil
	case severalUnavailable.On(r.c):
		return r.deleteNextOutdated()
	}
	return r.deleteOneOutdated()
}
