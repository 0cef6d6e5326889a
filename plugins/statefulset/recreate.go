package statefulset

import (
	"slices"

	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// The reasons of the condition Progressing, which tells how far a set is whose update strategy is Recreate.
const (
	recreating = "RecreateInProgress"
	recreated  = "RecreateCompleted"
)

func (r *rollout) recreates() bool {
	return r.set.Spec.UpdateStrategy.Type == appsv1.RecreateStatefulSetStrategyType
}

// deleteAllOutdated deletes all pods of other revisions, whatever the set's policy, and has the sync wait until they
// are gone. All pods count in the slow start, also those that there is nothing to do for.
func (r *rollout) deleteAllOutdated() (wait bool, err error) {
	var todo []work
	add := func(p *corev1.Pod) {
		w := work{silent: true}
		if p != nil && r.outdated(p) {
			if wait = true; !p.Deleting() {
				w = deletionOf(p)
			}
		}
		todo = append(todo, w)
	}
	r.forEachOrdinal(func(_ int64, p *corev1.Pod) bool { add(p); return true })
	for _, p := range r.condemned {
		add(p)
	}

	if wait {
		if _, err = r.performGroup(sdk.SlowStart, todo); err != nil {
			return true, err
		}
	}
	switch {
	case wait:
		r.setProgressing(corev1.ConditionTrue, recreating, "Deleting old revision pods")
	case r.current.Name != r.update.Name:
		r.setProgressing(corev1.ConditionTrue, recreating, "Waiting for new-revision pods to be created")
	}
	return wait, nil
}

// completeRecreation has the condition Progressing, where there is one, say that all pods are of the update revision.
func (r *rollout) completeRecreation() {
	if r.recreates() && recreation.On(r.c) && r.progressing() >= 0 {
		r.setProgressing(corev1.ConditionFalse, recreated, "All pods recreated successfully")
	}
}

// progressing is the place of the condition Progressing in the status, -1 where there is none.
func (r *rollout) progressing() int {
	return slices.IndexFunc(r.status.Conditions, func(x appsv1.StatefulSetCondition) bool {
		return x.Type == appsv1.StatefulSetProgressing
	})
}

// setProgressing sets the condition Progressing. The time of its last transition changes with its status alone.
func (r *rollout) setProgressing(status corev1.ConditionStatus, reason, message string) {
	i := r.progressing()
	if i < 0 {
		i = len(r.status.Conditions)
		r.status.Conditions = append(r.status.Conditions, appsv1.StatefulSetCondition{Type: appsv1.StatefulSetProgressing})
	}

	x := &r.status.Conditions[i]
	if x.Status != status {
		x.Status, x.LastTransitionTime = status, r.c.Now().Truncate()
	}
	x.Reason, x.Message = reason, message
}
