// Package pod knows what controllers ask of pods.
package pod

import (
	"time"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Terminal reports whether the pod has ended for good. It reads status.phase.
func Terminal(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Active reports whether the pod runs or is going to: neither ended nor being deleted. It reads status.phase and
// metadata.deletionTimestamp.
func Active(p *corev1.Pod) bool { return !Terminal(p) && !p.Deleting() }

// Terminating reports whether the pod is being deleted and has not ended. It reads what [Active] reads.
func Terminating(p *corev1.Pod) bool { return !Terminal(p) && p.Deleting() }

// ReadyCondition is the pod's condition Ready, nil where it has none.
func ReadyCondition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

// Ready reports whether the pod is ready. It reads status.conditions.type and status.
func Ready(p *corev1.Pod) bool {
	c := ReadyCondition(p)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Available reports whether the pod has been ready for minReadySeconds. It reads status.conditions.type, status and
// lastTransitionTime.
func Available(p *corev1.Pod, minReadySeconds int32, now metav1.Time) bool {
	c := ReadyCondition(p)
	if c == nil || c.Status != corev1.ConditionTrue {
		return false
	}
	return minReadySeconds == 0 ||
		!c.LastTransitionTime.IsZero() && !c.LastTransitionTime.Add(seconds(minReadySeconds)).After(now)
}

// NextAvailabilityCheck is how long it takes until the next of the pods that are ready becomes available, 0 where none
// will.
func NextAvailabilityCheck(pods []*corev1.Pod, minReadySeconds int32, now metav1.Time) time.Duration {
	var next time.Duration
	for _, p := range pods {
		c := ReadyCondition(p)
		if c == nil || c.Status != corev1.ConditionTrue || c.LastTransitionTime.IsZero() || minReadySeconds <= 0 {
			continue
		}
		if wait := c.LastTransitionTime.Add(seconds(minReadySeconds)).Sub(now); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}

// Filter returns the pods that keep accepts.
func Filter(pods []*corev1.Pod, keep func(*corev1.Pod) bool) []*corev1.Pod {
	kept := make([]*corev1.Pod, 0, len(pods))
	for _, p := range pods {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
