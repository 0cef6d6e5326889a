package statefulset

import (
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// holdsUp reports whether a roll-out in order waits for a pod that it is going to replace, and that may never get
// ready: one of an update that was broken, where the next update is what mends it.
func (r *rollout) holdsUp(n int64, p *corev1.Pod) bool {
	strategy := &r.set.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateStatefulSetStrategyType && strategy.Type != "" {
		return false
	}
	if u := strategy.RollingUpdate; u != nil && u.Partition != nil && n-r.first < int64(*u.Partition) {
		return false
	}
	return !p.Deleting() && !isRunningAndReady(p) && r.outdated(p)
}

// tellHoldUp says in an event what a roll-out waits for, once for each pod and revision.
func (r *rollout) tellHoldUp(p *corev1.Pod) {
	told := string(p.UID) + " " + r.update.Name
	if string(r.c.State()) == told {
		return
	}
	r.c.SetState([]byte(told))
	r.c.Event(r.set, corev1.EventTypeWarning, "UpdateWaits", "StatefulSet "+r.set.Name+" waits for Pod "+p.Name+
		" of an older revision to get ready before it updates to "+r.update.Name+
		": if the pod can't get ready, delete it")
}
