package statefulset

import (
	"slices"

	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// observe sets the status to what the pods amount to.
func (r *rollout) observe(lists ...[]*corev1.Pod) {
	s := r.set.Status // with what of it nobody here knows
	s.Conditions = slices.Clone(s.Conditions)
	s.ObservedGeneration = r.set.Generation
	s.CurrentRevision, s.UpdateRevision = r.current.Name, r.update.Name
	s.CollisionCount = &r.collisions
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.CurrentReplicas, s.UpdatedReplicas = 0, 0, 0, 0, 0
	for _, l := range lists {
		for _, p := range l {
			s.Replicas++
			if isRunningAndReady(p) {
				s.ReadyReplicas++
				if r.available(p) {
					s.AvailableReplicas++
				}
			}

			if p.Deleting() {
				continue
			}
			if revision(p) == r.current.Name {
				s.CurrentReplicas++
			}
			if revision(p) == r.update.Name {
				s.UpdatedReplicas++
			}
		}
	}
	r.status = s
}

// writeStatus writes the status where it says something new. Once all pods are of the update revision and ready, that
// is the current one.
func (r *rollout) writeStatus() {
	s, was := &r.status, &r.set.Status
	if most, err := r.maxUnavailable(); err == nil && severalUnavailable.On(r.c) {
		allowed.Add(r.c, float64(most), string(r.set.Spec.PodManagementPolicy))
	}
	if size := int32(r.behind - r.first); s.UpdatedReplicas == size && s.ReadyReplicas == size && s.Replicas == size {
		s.CurrentReplicas, s.CurrentRevision = s.UpdatedReplicas, s.UpdateRevision
		r.completeRecreation()
	}
	if s.ObservedGeneration > was.ObservedGeneration || !sameStatus(s, was) {
		set := sdk.Copy(r.set)
		set.Status = *s
		_ = r.c.UpdateStatus(set)
	}
}

// sameStatus compares what observe sets, but for the collisions, which a new revision's name tells of.
func sameStatus(a, b *appsv1.StatefulSetStatus) bool {
	return a.Replicas == b.Replicas && a.ReadyReplicas == b.ReadyReplicas && a.AvailableReplicas == b.AvailableReplicas &&
		a.CurrentReplicas == b.CurrentReplicas && a.UpdatedReplicas == b.UpdatedReplicas &&
		a.CurrentRevision == b.CurrentRevision && a.UpdateRevision == b.UpdateRevision &&
		slices.Equal(a.Conditions, b.Conditions)
}
