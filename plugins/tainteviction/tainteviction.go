// Package tainteviction deletes pods from nodes with taints of the effect NoExecute that they don't tolerate, or don't
// tolerate any longer.
//
// A pod that tolerates all of them for some time has a timer, which begins when that is first seen, and which nothing
// moves: it ends when the taints do, or when the pod tolerates them for ever, or not at all. Before a pod is deleted it
// is marked as the target of a disruption.
package tainteviction

import (
	"cmp"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/plugins/shared/scheduling"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

var comparisons = sdk.Gate("TaintTolerationComparisonOperators", false,
	"Whether tolerations with the operators Gt and Lt compare numbers; else they tolerate nothing.")

var (
	deletions = sdk.Counter("taint_eviction_controller_pod_deletions_total",
		"[ALPHA] Total number of Pods deleted by TaintEvictionController since its start.")
	durations = sdk.Histogram("taint_eviction_controller_pod_deletion_duration_seconds",
		"[ALPHA] Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via TaintEvictionController.",
		[]float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240})
)

// The key is a node's name. As long as the node is there and has no such taint, what happens to its pods wakes nobody.
var (
	tainted = sdk.Select(nodeKind, sdk.In("spec.taints.effect", string(corev1.TaintEffectNoExecute))).
		Fields("spec.taints")
	present = sdk.Select(nodeKind, sdk.KeyValue("metadata.name")).Named("present").Fields("metadata.name").Quiet()

	// pods are those of a node that is tainted, or is gone: what was to happen to them happens all the same.
	pods = sdk.Select(podKind, sdk.KeyValue("spec.nodeName")).
		When(sdk.Any(sdk.On(tainted, sdk.Exists("")), sdk.Not(sdk.On(present, sdk.Exists(""))))).
		Fields("spec.tolerations")

	// doomed holds no pod, for none is without a name: it says what is read of one before it is deleted, from the API
	// server.
	doomed = sdk.Select(podKind, sdk.Not(sdk.Exists("metadata.name"))).Named("doomed").Quiet().
		Fields("metadata.generation", "status.conditions.type", "status.conditions.status", "status.conditions.reason",
			"status.conditions.message", "status.conditions.lastProbeTime")
)

// Plugin is the tainteviction module (pkg/controller/tainteviction).
var Plugin = &sdk.Plugin{
	Name:        "tainteviction",
	Version:     "1.0.0",
	Description: "Deletes pods from nodes with NoExecute taints that they don't tolerate, or no longer.",
	Settings:    []*sdk.Setting{comparisons},
	Metrics:     []*sdk.Metric{deletions, durations},
	Controllers: []*sdk.Controller{{
		Name:           "taint-eviction-controller",
		Queue:          "noexec_taint_node",
		ServiceAccount: "node-controller",
		EventSource:    "taint-eviction-controller",
		Reads:          sdk.Views{tainted, present, pods, doomed},
		Writes:         sdk.Writes{podKind.Verbs("get", "delete"), podKind.Sub("status", "patch")},
		By:             sdk.KeyedBy{Path: "metadata.name"},
		Workers:        8,
		State:          true,
		Sync:           sync,
	}},
}

// sync looks at the pods of a node: at all of them when its taints have changed, else at those that are new or tolerate
// something else now. What has come to its time is deleted.
func sync(c *sdk.Call) error {
	n, isTainted := tainted.Get(c)
	_, there := present.Get(c)
	before := parse(c.State())
	r := &round{c: c, now: c.Now().UnixNano()}
	if !isTainted && there {
		r.cancelAll(before.pods)
		c.SetState(nil)
		return nil
	}

	var after book
	var taints []corev1.Taint
	if isTainted {
		taints = noExecute(n.Spec.Taints)
		after.taints = hashTaints(taints)
	}
	for _, p := range pods.List(c) {
		e, known := r.take(&before, p)
		tolerations := hashTolerations(p.Spec.Tolerations)
		if isTainted && (!known || before.taints != after.taints || e.tolerations != tolerations) {
			e.tolerations = tolerations
			r.judge(&e, p, taints)
		} else if !known {
			continue // of a node that is gone: it is no longer known to be tainted
		}
		after.pods = append(after.pods, e)
	}
	r.cancelAll(before.pods)

	err := r.evict(after.due(r.now))
	after.keep(c)
	return err
}

// take takes the pod's entry out of the book, or begins one. Both are in the order of names: what comes before the pod's
// is of pods that are gone.
func (r *round) take(b *book, p *pod) (e entry, known bool) {
	for len(b.pods) > 0 {
		x := &b.pods[0]
		order := cmp.Or(strings.Compare(x.namespace, p.Namespace), strings.Compare(x.name, p.Name))
		if order > 0 {
			break
		}
		e = *x
		b.pods = b.pods[1:]
		if order == 0 && e.uid == p.UID {
			return e, true
		}
		r.cancel(&e)
	}
	return entry{namespace: p.Namespace, name: p.Name, uid: p.UID}, false
}

// round is one sync.
type round struct {
	c   *sdk.Call
	now int64 // ns
}

// judge decides when the pod is to go. A timer that runs goes on, whatever else the pod tolerates now, or for how long.
func (r *round) judge(e *entry, p *pod, taints []corev1.Taint) {
	patience, evicts := tolerated(taints, p.Spec.Tolerations, comparisons.On(r.c))
	switch {
	case !evicts:
		r.cancel(e)
	case patience < 0:
		r.cancel(e)
		e.due = r.now
	case e.due == 0:
		e.due = r.now + int64(patience)
	}
}

// tolerated returns for how long tolerations tolerate taints, negative where they don't. Not evicts: for ever. Of several
// that tolerate a taint the first counts.
func tolerated(taints []corev1.Taint, tolerations []corev1.Toleration, comparisons bool) (least time.Duration,
	evicts bool) {
	for i := range taints {
		x := scheduling.FirstTolerating(&taints[i], tolerations, comparisons)
		if x == nil {
			return -1, true
		}
		if x.TolerationSeconds == nil {
			continue
		}
		if d := seconds(*x.TolerationSeconds); !evicts || d < least {
			least, evicts = d, true
		}
	}
	return least, evicts
}

// seconds returns so many, at least none, and at most a hundred years, so that the time when they end is a time.
func seconds(n int64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(max(n, 0), int64(most/time.Second))) * time.Second
}

func noExecute(all []corev1.Taint) (taints []corev1.Taint) {
	for i := range all {
		if all[i].Effect == corev1.TaintEffectNoExecute {
			taints = append(taints, all[i])
		}
	}
	return taints
}

// cancel ends the pod's timer, if one runs.
func (r *round) cancel(e *entry) {
	if e.due != 0 && !e.marked {
		r.tell(e, "Cancelling deletion of Pod ")
	}
	e.rest()
}

func (r *round) cancelAll(all []entry) {
	for i := range all {
		r.cancel(&all[i])
	}
}

// tell has people know what becomes of a pod.
func (r *round) tell(e *entry, message string) {
	r.c.Event(e.pod(), corev1.EventTypeNormal, "TaintManagerEviction", message+e.namespace+"/"+e.name)
}
