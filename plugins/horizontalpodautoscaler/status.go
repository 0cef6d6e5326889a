package horizontalpodautoscaler

import (
	"slices"

	"github.com/windlass-dev/windlass/sdk"
	autoscalingv2 "github.com/windlass-dev/windlass/sdk/api/autoscaling/v2"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// setCondition sets a condition; when it came to be so is told of its status alone.
func (r *run) setCondition(conditionType autoscalingv2.HorizontalPodAutoscalerConditionType, holds bool, reason,
	message string) {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	c := r.condition(conditionType)
	if c == nil {
		l := append(r.hpa.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: conditionType})
		r.hpa.Status.Conditions, c = l, &l[len(l)-1]
	}
	if c.Status != status {
		c.LastTransitionTime = r.c.Now().Truncate()
	}
	c.Status, c.Reason, c.Message = status, reason, message
}

// removeCondition takes a condition away.
func (r *run) removeCondition(conditionType autoscalingv2.HorizontalPodAutoscalerConditionType) {
	s := &r.hpa.Status
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions),
		func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == conditionType
		})
}

// isConditionTrue reports whether the condition is true.
func (r *run) isConditionTrue(conditionType autoscalingv2.HorizontalPodAutoscalerConditionType) bool {
	c := r.condition(conditionType)
	return c != nil && c.Status == corev1.ConditionTrue
}

func (r *run) condition(
	conditionType autoscalingv2.HorizontalPodAutoscalerConditionType,
) *autoscalingv2.HorizontalPodAutoscalerCondition {
	for i := range r.hpa.Status.Conditions {
		if c := &r.hpa.Status.Conditions[i]; c.Type == conditionType {
			return c
		}
	}
	return nil
}

// setStatus sets how many replicas there are and should be, and what the metrics are.
func (r *run) setStatus(current, desired int32, metrics []autoscalingv2.MetricStatus) {
	s := &r.hpa.Status
	s.CurrentReplicas, s.DesiredReplicas, s.CurrentMetrics = current, desired, metrics
	s.ObservedGeneration = nil
	if generation.On(r.c) {
		seen := r.hpa.Generation
		s.ObservedGeneration = &seen
	}
}

func (r *run) addEvent(eventType, reason, message string) {
	r.events = append(r.events, sdk.Event(r.hpa, eventType, reason, message))
}

// writeStatus sends the events, then the status if it has changed.
func (r *run) writeStatus(seen *autoscalingv2.HorizontalPodAutoscaler) error {
	changed := !resource.Equal(seen, r.hpa)
	if changed {
		r.events = append(r.events, sdk.UpdateStatus(r.hpa))
	}
	if len(r.events) == 0 {
		return nil
	}
	_, err := r.c.DoAll(r.events...)
	if err == nil || !changed {
		return err
	}
	r.c.Event(r.hpa, corev1.EventTypeWarning, "FailedUpdateStatus", err.Error())
	return wrapError("failed to update status for "+r.hpa.Name+": ", err)
}
