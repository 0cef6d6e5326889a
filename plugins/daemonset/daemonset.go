// Package daemonset runs a pod of a template on each node that a DaemonSet wants.
//
// It decides for each node whether a pod of the DaemonSet should be there, by the template's node selector, affinity
// and tolerations, makes the pods that are missing, bound to their nodes by affinity, and deletes those that shouldn't
// be there. Failed pods are replaced after a delay that doubles. A changed template is rolled out node by node, as
// maxUnavailable and maxSurge allow, or when somebody deletes a pod (OnDelete). Each template is kept as a
// ControllerRevision.
package daemonset

import (
	"slices"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/scheduling"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
	"github.com/windlass-dev/windlass/sdk/pod"
)

const (
	hashLabel       = appsv1.DefaultDaemonSetUniqueLabelKey
	generationLabel = "pod-template-generation"

	// fieldsOf leads to what says which node a pod is for until the scheduler has bound it.
	fieldsOf = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.matchFields"
)

var (
	sets = sdk.Key(appsv1.DaemonSets).
		Fields("metadata.annotations", "metadata.generation", "metadata.deletionTimestamp", "spec", "status").
		QuietOn(abi.QuietOwn) // a status that says what it should
	revisions = sdk.Select(appsv1.ControllerRevisions, sdk.KeyNamespace(),
		sdk.Any(sdk.ControlledBy(sets), sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences",
			"data", "revision")
	pods = sdk.Select(corev1.Pods, sdk.KeyNamespace(), sdk.Any(sdk.ControlledBy(sets),
		sdk.All(sdk.Orphan(), sdk.SelectedBy(sets, "spec.selector")))).
		Fields("metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences.uid",
			"metadata.ownerReferences.controller",
			"spec.nodeName", fieldsOf,
			"status.phase", "status.conditions.type", "status.conditions.status", "status.conditions.lastTransitionTime")
	// A node that comes or goes is counted in the status, and nobody can bind a pod that is meant for one that is gone;
	// there is no hurry, and often there are several. What a node that is there has changed to, and whether a new one
	// wants a pod, the other controller sees at once, and looks first whether it is any of a DaemonSet's business.
	nodes = sdk.Select(scheduling.Nodes).Fields(scheduling.NodeFields...).QuietOn(abi.QuietStart,
		abi.QuietUpdate).Batch(time.Second)
)

var comparisons = sdk.Gate("TaintTolerationComparisonOperators", false,
	"Whether tolerations with the operators Gt and Lt compare numbers; else they tolerate nothing.")

// Plugin is the daemonset module (pkg/controller/daemon).
var Plugin = &sdk.Plugin{
	Name:        "daemonset",
	Version:     "1.0.0",
	Description: "Runs a pod of a template on each node that a DaemonSet wants.",
	Settings:    []*sdk.Setting{comparisons},
	Metrics: []*sdk.Metric{sdk.Stale("daemonset_controller_stale_sync_skips_total",
		"[ALPHA] Total number of DaemonSet syncs skipped due to a stale watch cache.")},
	Controllers: []*sdk.Controller{{
		Name:           "daemonset-controller",
		Alias:          "daemonset",
		Queue:          "daemonset",
		ServiceAccount: "daemon-set-controller",
		EventSource:    "daemonset-controller",
		Reads:          sdk.Views{sets, revisions, pods, nodes},
		Writes: sdk.Writes{corev1.Pods.Verbs("create", "delete", "patch"),
			appsv1.ControllerRevisions.Verbs("get", "create", "update", "patch", "delete"),
			appsv1.DaemonSets.Verbs("get"), appsv1.DaemonSets.Sub("status", "update"),
			appsv1.DaemonSets.Sub("finalizers", "update")},
		Workers: 2,
		Pace:    sdk.StatusPace,
		State:   true,
		Sync:    sync,
	}, {
		Name:           "daemonset-node-updates",
		PartOf:         "daemonset-controller",
		Queue:          "daemonset-node-updates",
		ServiceAccount: "daemon-set-controller",
		Reads:          sdk.Views{updatedNodes, allSets, podsOnNode, podsForNode},
		Workers:        2,
		Sync:           syncNode,
	}},
}

// daemon is one sync of a DaemonSet.
type daemon struct {
	c          *sdk.Call
	ds         *appsv1.DaemonSet
	hash       string                       // of the template's revision
	generation string                       // the template's, before there were revisions
	old        []*appsv1.ControllerRevision // of former templates
	spec       corev1.PodSpec               // the template's, with the tolerations of daemon pods
	pods       []*corev1.Pod                // those that are the DaemonSet's
	places     []place                      // all nodes in the order of their names, then those that are gone
	backoff    backoff                      // of the nodes whose pods fail
}

func sync(c *sdk.Call) error {
	ds, ok := sets.Get(c)
	if !ok {
		return nil
	}
	if s := ds.Spec.Selector; s != nil && len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		c.Event(ds, corev1.EventTypeWarning, "SelectingAll",
			"This daemon set is selecting all pods. A non-empty selector is required.")
		return nil
	}
	if ds.Deleting() {
		return nil // what the garbage collector has left of its pods and revisions says nothing
	}
	d := &daemon{c: c, ds: ds, generation: generation(ds)}
	if err := d.findRevision(); err != nil {
		return sdk.Errors("failed to construct revisions of DaemonSet: ", err.Error())
	}
	if err := d.placePods(); err != nil {
		return err
	}
	err := d.proceed()
	d.writeStatus()
	return err
}

// proceed takes the DaemonSet's pods one step nearer to what they should be. It is done at once, because events tell of
// each.
func (d *daemon) proceed() error {
	d.backoff = loadBackoff(d.c, d.ds.Status.ObservedGeneration)
	defer d.backoff.saveState(d.c)
	create, remove := d.planPods()
	settled, err := d.writePods(create, remove)
	if err != nil {
		return err
	}
	if settled && d.ds.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		// In the same sync, else the nodes whose pods are slow to end would hold up all others.
		if create, remove, err = d.planUpdate(); err != nil {
			return err
		}
		if _, err = d.writePods(create, remove); err != nil {
			return err
		}
	}
	d.cleanUp()
	return nil
}

// burst is how many pods one sync creates, and deletes, at most; the pods' own events bring the next sync.
const burst = 250

// writePods creates pods on nodes and deletes others, whether or not creating works. It tells whether the places show
// all that it did: they get the pods that were created, and keep those that were deleted.
func (d *daemon) writePods(create []*place, remove []*corev1.Pod) (settled bool, failure error) {
	settled = len(remove) == 0
	if n := min(len(create), burst); n > 0 {
		create = d.backoff.takeTurns(create)
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = d.newPod(create[i].name)
		}
		var created, refused int
		created, refused, failure = pod.CreateCounted(d.c, d.ds, pods)
		d.backoff.giveTurn(create, created+refused, failure != nil)
		if created == n {
			d.assumePods(create[:n])
		} else {
			settled = false // the next sync sees which are there
		}
	}
	if n := min(len(remove), burst); n > 0 {
		if err := pod.Delete(d.c, d.ds, remove[:n]); failure == nil {
			failure = err
		}
	}
	return settled, failure
}

// assumePods puts what is known of a pod that has just been created where one was.
func (d *daemon) assumePods(at []*place) {
	p := &corev1.Pod{}
	p.Labels, p.CreationTimestamp = d.newLabels(), d.c.Now()
	for _, x := range at {
		x.pods = append(x.pods, p)
	}
}

// claimPods returns the DaemonSet's pods.
func (d *daemon) claimPods() (err error) {
	if d.pods == nil {
		d.pods, err = owner.Claim(d.c, d.ds, pods.List(d.c),
			func(p *corev1.Pod) bool { return labels.Selects(d.ds.Spec.Selector, p.Labels) })
	}
	return err
}

// writeStatus writes the status of the pods that the sync found and created, whatever became of its writes.
func (d *daemon) writeStatus() {
	s := d.computeStatus()
	if was := &d.ds.Status; !sameStatus(&s, was) || was.ObservedGeneration < d.ds.Generation {
		x := sdk.Copy(d.ds)
		x.Status = s
		d.c.Add(sdk.UpdateStatus(x, sdk.Always()))
	}
	if d.ds.Spec.MinReadySeconds == 0 {
		return
	}
	// A pod becomes available without an event.
	if wait := pod.NextAvailabilityCheck(d.pods, d.ds.Spec.MinReadySeconds, d.c.Now()); wait > 0 {
		d.c.After(wait)
	} else if s.NumberReady != s.NumberAvailable {
		d.c.After(time.Duration(d.ds.Spec.MinReadySeconds) * time.Second)
	}
}

// computeStatus returns what the nodes and the pods on them amount to.
func (d *daemon) computeStatus() appsv1.DaemonSetStatus {
	s := d.ds.Status // with what of it nobody here knows
	s.ObservedGeneration = d.ds.Generation
	s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberMisscheduled = 0, 0, 0
	s.NumberReady, s.UpdatedNumberScheduled, s.NumberAvailable = 0, 0, 0
	for i := range d.places {
		at := &d.places[i]
		switch {
		case at.gone:
		case !at.run && len(at.pods) > 0:
			s.NumberMisscheduled++
		case at.run:
			s.DesiredNumberScheduled++
			if len(at.pods) == 0 {
				continue
			}
			s.CurrentNumberScheduled++
			p := slices.MinFunc(at.pods, compareByAge)
			if pod.Ready(p) {
				s.NumberReady++
			}
			if d.available(p) {
				s.NumberAvailable++
			}
			if d.updated(p) {
				s.UpdatedNumberScheduled++
			}
		}
	}

	s.NumberUnavailable = s.DesiredNumberScheduled - s.NumberAvailable
	return s
}

func sameStatus(a, b *appsv1.DaemonSetStatus) bool {
	return a.DesiredNumberScheduled == b.DesiredNumberScheduled && a.CurrentNumberScheduled == b.CurrentNumberScheduled &&
		a.NumberMisscheduled == b.NumberMisscheduled &&
		a.NumberReady == b.NumberReady && a.UpdatedNumberScheduled == b.UpdatedNumberScheduled &&
		a.NumberAvailable == b.NumberAvailable && a.NumberUnavailable == b.NumberUnavailable
}

func (d *daemon) available(p *corev1.Pod) bool {
	return pod.Available(p, d.ds.Spec.MinReadySeconds, d.c.Now())
}
