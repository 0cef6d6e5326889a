// Package disruption says in a PodDisruptionBudget's status how many of its pods may be disrupted now.
//
// Healthy pods are those that are ready, aren't being deleted, and that nobody was allowed to evict in the last two
// minutes. How many there should be is a number, or a share of the scale of what controls the pods: of
// ReplicationControllers, ReplicaSets, Deployments and StatefulSets, and of anything else that has a scale subresource.
// A budget that can't be computed allows no disruption. A second queue takes back a pod's condition DisruptionTarget
// where the pod still isn't being deleted after two minutes.
package disruption

import (
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	policyv1 "github.com/windlass-dev/windlass/sdk/api/policy/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// patience is how long a pod may stay when it was said that it is to go: by an entry in the budget's disruptedPods, or
// by its condition DisruptionTarget.
const patience = 2 * time.Minute

const serviceAccount = "disruption-controller"

var (
	// An eviction writes into the status, and so wakes the budget; its own writes don't.
	budgets = sdk.Key(policyv1.PodDisruptionBudgets).
		Fields("metadata.generation", "spec.minAvailable", "spec.maxUnavailable", "spec.selector", "status").
		QuietOn(abi.QuietOwn)
	pods = sdk.Select(podKind, sdk.KeyNamespace(), sdk.SelectedBy(budgets, "spec.selector")).
		Fields("metadata.labels", "metadata.deletionTimestamp",
			"metadata.ownerReferences.apiVersion", "metadata.ownerReferences.kind", "metadata.ownerReferences.name",
			"metadata.ownerReferences.uid", "metadata.ownerReferences.controller",
			"status.conditions.type", "status.conditions.status").
		Quiet("metadata.labels", "status.conditions")
	// Of a pod's conditions only whether it is ready wakes its budgets.
	ready = sdk.Select(podKind, sdk.KeyNamespace(), sdk.SelectedBy(budgets, "spec.selector"),
		sdk.Each("status.conditions", sdk.In("type", string(corev1.PodReady)),
			sdk.In("status", string(corev1.ConditionTrue)))).
		Named("ready pods").Counted(1 << 30)
	// rivals are the namespace's budgets, of which another one may select the same pods.
	rivals = sdk.Select(resource.Of[rival]{Info: rivalInfo}, sdk.KeyNamespace()).Named("rivals").
		Fields("spec.selector").Lazy().Quiet()
)

// Plugin is the disruption module (pkg/controller/disruption).
var Plugin = &sdk.Plugin{
	Name:        "disruption",
	Version:     "1.0.0",
	Description: "Says how many pods of a PodDisruptionBudget may be disrupted, and takes back what a pod says of a disruption that never came.",
	Controllers: []*sdk.Controller{{
		Name:           "disruption-controller",
		Alias:          "disruption",
		Queue:          "disruption",
		ServiceAccount: serviceAccount,
		EventSource:    "controllermanager",
		Reads:          sdk.Views{budgets, pods, ready, controllers, sets, deployments, statefulSets, rivals},
		Writes: sdk.Writes{policyv1.PodDisruptionBudgets.Sub("status", "update"),
			resource.Any.Sub("scale", "get")},
		Workers: 1,
		Pace:    sdk.StatusPace,
		State:   true,
		Sync:    sync,
	}, {
		Name:           "disruption-stale-pods",
		PartOf:         "disruption-controller",
		Queue:          "stale_pod_disruption",
		ServiceAccount: serviceAccount,
		Reads:          sdk.Views{targets},
		Writes:         sdk.Writes{podKind.Sub("status", "patch")},
		Workers:        1,
		Sync:           syncTarget,
	}},
}

// run is one sync of a budget.
type run struct {
	c      *sdk.Call
	budget *policyv1.PodDisruptionBudget
	pods   []*Pod

	deployments []*deployment // nil: they weren't asked for
}

// sync writes what the budget allows. The write is of the version that was seen: where an eviction was allowed
// meanwhile it fails, and all is computed anew.
func sync(c *sdk.Call) error {
	budget, ok := budgets.Get(c)
	if !ok {
		c.SetState(nil)
		return nil
	}

	r := &run{c: c, budget: budget, pods: pods.List(c)}
	r.tellOfRivals()
	err := r.reconcile()
	if err != nil && !sdk.Failed(err, sdk.Conflict) {
		r.failSafe(err)
	}
	return err
}

// reconcile computes the budget's status.
func (r *run) reconcile() error {
	if err := labels.Check(r.budget.Spec.Selector); err != nil {
		r.warn("NoPods", "Failed to get pods: "+err.Error())
		return err
	}
	if len(r.pods) == 0 {
		r.c.Event(r.budget, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}

	want, err := r.expectPods()
	if err != nil {
		r.warn("CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: "+err.Error())
		return err
	}
	if want.unmanaged {
		r.warn("UnmanagedPods", "Pods selected by this PodDisruptionBudget (selector: "+
			formatSelector(r.budget.Spec.Selector)+") were found to be unmanaged. As a result, the status of the PDB cannot be "+
			"calculated correctly, which may result in undefined behavior. To account for these pods please set "+
			`".spec.minAvailable" field of the PDB to an integer value.`)
	}

	disrupted, recheck := r.disruptedPods()
	if err := r.writeStatus(want, disrupted); err != nil {
		return err
	}
	if recheck != nil {
		return r.c.After(recheck.Sub(r.c.Now()) + 1) // when it is over
	}
	return nil
}

func (r *run) warn(reason, message string) {
	r.c.Event(r.budget, corev1.EventTypeWarning, reason, message)
}

// disruptedPods returns those entries of pods that are about to go, and when the first of them is to be looked at
// again. An entry ends when the pod is being deleted, or when it should have been long ago.
func (r *run) disruptedPods() (entries disruptions, recheck *metav1.Time) {
	if len(r.budget.Status.DisruptedPods) == 0 {
		return nil, nil
	}
	for _, p := range r.pods {
		since, ok := r.budget.Status.DisruptedPods.Lookup(p.Name)
		if !ok || p.Deleting() {
			continue
		}
		end := since.Add(patience)
		if end.Before(r.c.Now()) {
			// upstream's text, which has the namespace in the place of the name
			r.c.Event(p, corev1.EventTypeWarning, "NotDeleted", "Pod was expected by PDB "+r.budget.Namespace+"/"+
				r.budget.Namespace+" to be deleted but it wasn't")
			continue
		}
		entries.Set(p.Name, since)
		if recheck == nil || end.Before(*recheck) {
			recheck = &end
		}
	}
	return entries, recheck
}

// countHealthy returns how many pods are ready and to stay.
func (r *run) countHealthy(disrupted disruptions) (n int32) {
	for _, p := range r.pods {
		since, going := disrupted.Lookup(p.Name)
		if p.ready() && !p.Deleting() && !(going && since.Add(patience).After(r.c.Now())) {
			n++
		}
	}
	return n
}
