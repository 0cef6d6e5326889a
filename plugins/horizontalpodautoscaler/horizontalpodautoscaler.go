// Package horizontalpodautoscaler gives what HorizontalPodAutoscalers target as many replicas as its metrics ask for.
//
// Every sync period (15 s by default) it reads a target's scale and metrics: of pods' resources, pods, objects or from
// outside. Each metric proposes a number of replicas; the largest counts, within minReplicas and maxReplicas, and as
// the behaviour's policies and stabilization windows allow. Pods that aren't ready, or whose metrics are missing, are
// counted so that they never make a change larger.
package horizontalpodautoscaler

import (
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/metrics"
	"github.com/windlass-dev/windlass/plugins/shared/scale"
	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// autoscalers are synced at once when their spec changes and otherwise by the clock: the status that a sync writes is
// no reason to ask for the metrics again.
var autoscalers = sdk.Key(autoscalingv2.HorizontalPodAutoscalers).
	Fields("metadata.generation", "spec", "status").
	Quiet("status").QuietOn(abi.QuietOwn)

// Plugin is the horizontalpodautoscaler module (pkg/controller/podautoscaler).
var Plugin = &sdk.Plugin{
	Name:        "horizontalpodautoscaler",
	Version:     "1.0.0",
	Description: "Gives what HorizontalPodAutoscalers target as many replicas as its metrics ask for.",
	Settings: []*sdk.Setting{syncPeriod, downscaleStabilization, defaultTolerance, cpuInitialization, readinessDelay,
		scaleToZero, generation, podRequests},
	Metrics: []*sdk.Metric{reconciliations, reconciliationTimes, computations, computationTimes, desiredReplicas,
		stale, number},
	Check: checkSettings,
	Controllers: []*sdk.Controller{{
		Name:           "horizontal-pod-autoscaler-controller",
		Alias:          "horizontalpodautoscaling",
		Queue:          "horizontalpodautoscaler",
		ServiceAccount: "horizontal-pod-autoscaler",
		EventSource:    "horizontal-pod-autoscaler",
		Reads:          sdk.Views{autoscalers, pods},
		Writes: append(sdk.Writes{autoscalingv2.HorizontalPodAutoscalers.Sub("status", "update"),
			resource.Any.Sub("scale", "get", "update")}, metrics.Rights...),
		Workers: 5,
		Backoff: abi.Backoff{Base: int64(time.Second), Max: int64(15 * time.Second)},
		State:   true,
		Sync:    sync,
	}},
}

// run is one sync of an autoscaler.
type run struct {
	c         *sdk.Call
	hpa       *autoscalingv2.HorizontalPodAutoscaler // with what this sync makes of its status
	reference string                                 // the target, as messages name it
	tolerance tolerance
	now       int64 // in milliseconds
	history   history
	events    []sdk.Effect

	target   *scale.Scale
	selector string                // the target's pods
	selects  *metav1.LabelSelector // the same, parsed
	pods     []*Pod                // those that it selects and that haven't ended
	ended    []*Pod                // those that have
}

func sync(c *sdk.Call) error {
	seen, ok := autoscalers.Get(c)
	if !ok {
		c.SetState(nil)
		number.Add(c, 0)
		return nil
	}
	number.Add(c, 1)
	r := &run{c: c, hpa: sdk.Clone(seen), now: unixMillis(c.Now()), history: decodeHistory(c.State())}
	t := &seen.Spec.ScaleTargetRef
	r.reference = t.Kind + "/" + seen.Namespace + "/" + t.Name
	r.tolerance = tolerances(c, seen.Spec.Behavior)
	action, err := r.reconcile()
	c.SetState(r.history.encode())
	if e := r.writeStatus(seen); e != nil {
		err = e
	}
	result := errorLabel(err)
	reconciliations.Add(c, 1, action, result)
	reconciliationTimes.Took(c, action, result)
	if err != nil {
		c.Log(err.Error()) // it is in the conditions too; a failure is no reason to be synced sooner
	}
	return c.After(periodSetting(c, syncPeriod))
}

// reconcile brings the target's scale to what the autoscaler asks for. It may fail though it has scaled: by those
// metrics that there were.
func (r *run) reconcile() (action string, err error) {
	if err := r.fetchScale(); err != nil {
		return none, err
	}
	r.setCondition(autoscalingv2.AbleToScale, true, "SucceededGetScale",
		"the HPA controller was able to get the target's current scale")
	current := r.target.Spec.Replicas
	if len(r.history.recommended) == 0 {
		r.history.recommended = []mark{{current, r.now}}
	}
	d, err := r.decideReplicas(current)
	if err != nil && d.replicas < 0 {
		r.setStatus(current, r.hpa.Status.DesiredReplicas, d.metrics)
		r.addEvent(corev1.EventTypeWarning, "FailedComputeMetricsReplicas", err.Error())
		return none, wrapError("failed to compute desired number of replicas based on listed metrics for "+r.reference+": ",
			err)
	}

	if d.replicas != current {
		if err := r.rescale(current, d); err != nil {
			r.setStatus(current, r.hpa.Status.DesiredReplicas, d.metrics)
			return none, wrapError("failed to rescale "+r.reference+": ", err)
		}
		now := r.c.Now().Truncate()
		r.hpa.Status.LastScaleTime = &now
	}

	r.setStatus(current, d.replicas, d.metrics)
	desiredReplicas.Add(r.c, float64(d.replicas))
	switch {
	case d.replicas > current:
		return scaleUp, err
	case d.replicas < current:
		return scaleDown, err
	}

	return none, err
}

// decision is how many replicas there should be, why, and what the metrics were; -1 replicas where that can't be told.
type decision struct {
	replicas int32
	reason   string
	metrics  []autoscalingv2.MetricStatus
}

// decideReplicas keeps the replicas within the limits, and within them lets the metrics decide. A target without
// replicas is let alone, unless it was the autoscaler that took the last one.
func (r *run) decideReplicas(current int32) (d decision, err error) {
	spec, least := &r.hpa.Spec, r.minReplicas()
	asleep := current == 0 && scaleToZero.On(r.c) && r.isConditionTrue(autoscalingv2.ScaledToZero)
	switch {
	case current == 0 && !(asleep && (least != 0 || r.fromZero())):
		r.setCondition(autoscalingv2.ScalingActive, false, "ScalingDisabled",
			"scaling is disabled since the replica count of the target is zero")
		if !scaleToZero.On(r.c) {
			r.removeCondition(autoscalingv2.ScaledToZero)
		}
		return d, nil
	case current > spec.MaxReplicas:
		return decision{replicas: spec.MaxReplicas, reason: "Current number of replicas above Spec.MaxReplicas"}, nil
	case current != 0 && current < least:
		return decision{replicas: least, reason: "Current number of replicas below Spec.MinReplicas"}, nil
	}

	p, statuses, err := r.propose()
	d.metrics = statuses
	if err != nil && p.replicas == -1 {
		d.replicas = -1
		return d, err
	}

	p.replicas = max(p.replicas, 0) // of a negative metric
	switch {
	case p.replicas > current:
		d.reason = p.metric + " above target"
	case p.replicas < current:
		d.reason = "All metrics below target"
	}

	d.replicas = r.normalize(current, p.replicas, least)
	if asleep && d.replicas < least {
		d.replicas = least
		if d.reason == "" {
			d.reason = "Current number of replicas below Spec.MinReplicas"
		}
	}
	return d, err
}

// minReplicas returns the smallest number of replicas that there may be.
func (r *run) minReplicas() int32 {
	if n := r.hpa.Spec.MinReplicas; n != nil {
		return *n
	}
	return 1
}

// fromZero reports whether there are metrics that tell something of a target without pods.
func (r *run) fromZero() bool {
	for i := range r.hpa.Spec.Metrics {
		if t := r.hpa.Spec.Metrics[i].Type; t == autoscalingv2.ObjectMetricSourceType ||
			t == autoscalingv2.ExternalMetricSourceType {
			return true
		}
	}
	return false
}

// rescale sets the target's scale and reports of it.
func (r *run) rescale(current int32, d decision) error {
	size := "New size: " + formatInt(d.replicas) + "; reason: " + d.reason
	if err := r.updateScale(d.replicas); err != nil {
		r.addEvent(corev1.EventTypeWarning, "FailedRescale", size+"; error: "+err.Error())
		r.setCondition(autoscalingv2.AbleToScale, false, "FailedUpdateScale",
			"the HPA controller was unable to update the target scale: "+err.Error())
		return err
	}
	r.setCondition(autoscalingv2.AbleToScale, true, "SucceededRescale",
		"the HPA controller was able to update the target scale to "+formatInt(d.replicas))
	r.addEvent(corev1.EventTypeNormal, "SuccessfulRescale", size)
	r.rememberScaling(current, d.replicas)
	switch {
	case !scaleToZero.On(r.c):
		r.removeCondition(autoscalingv2.ScaledToZero)
	case current > 0 && d.replicas == 0 && r.minReplicas() == 0 && r.fromZero():
		r.setCondition(autoscalingv2.ScaledToZero, true, "ScaledToZero", "the HPA controller scaled the workload to zero")
	default:
		r.setCondition(autoscalingv2.ScaledToZero, false, "NotScaledToZero",
			"the HPA controller did not scale the workload to zero")
	}
	return nil
}

func formatInt(n int32) string { return strconv.Itoa(int(n)) }
