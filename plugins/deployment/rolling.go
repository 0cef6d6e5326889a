package deployment

import (
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	"github.com/windlass-dev/windlass/sdk/intstr"
)

// advanceRollout grows the new set as far as the surge allows; when there is nothing to grow it shrinks old ones as far
// as enough pods stay available.
func (r *rollout) advanceRollout() error {
	if r.new == nil {
		if err := r.createNewSet(); err != nil {
			return err
		}
	}
	n := r.want
	if desiredReplicas(r.new) < n {
		n = r.newSetLimit(r.allSets(), r.new)
	}
	if r.resizeSet(r.new, n, false) {
		r.progress()
		return nil
	}
	// The status tells of a rollout that doesn't get rid of its old pods, too.
	r.shrinkOldSets()
	if r.progress(sdk.Always()) {
		r.cleanUp()
	}
	return nil
}

// newSetLimit returns the size up to which the new set may grow, for there are never to be more pods than wanted and
// surge.
func (r *rollout) newSetLimit(all []*appsv1.ReplicaSet, rs *appsv1.ReplicaSet) int32 {
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return r.want
	}
	free := r.want + r.maxSurge() - totalDesired(all)
	return desiredReplicas(rs) + max(0, min(free, r.want-desiredReplicas(rs)))
}

// shrinkOldSets takes pods from the old sets, oldest first: those that are not available anyway, then as many as are
// available beyond what is needed.
func (r *rollout) shrinkOldSets() {
	old := activeSets(r.old)
	needed := r.want - r.maxUnavailable()

	// Pods of the new set that aren't available yet count as if they weren't there.
	spare := totalDesired(old) + keptAvailable(r.new) - needed
	if len(old) == 0 || spare <= 0 {
		return
	}

	sizes := make([]int32, len(old))
	for i, rs := range old {
		sizes[i] = desiredReplicas(rs)
	}

	has := keptAvailable(r.new)
	for i, rs := range old {
		has += keptAvailable(rs)
		k := max(0, min(spare, sizes[i]-keptAvailable(rs)))
		sizes[i] -= k
		spare -= k
	}

	for i := range old {
		k := max(0, min(has-needed, sizes[i]))
		sizes[i] -= k
		has -= k
	}

	for i, rs := range old {
		r.resizeSet(rs, sizes[i], false)
	}
}

// keptAvailable returns how many available pods the set keeps. One that has more of them than it should have pods is
// about to lose some; upstream counts those too (pkg/controller/deployment/rolling.go), and may end up with fewer than
// needed.
func keptAvailable(rs *appsv1.ReplicaSet) int32 {
	return min(desiredReplicas(rs), rs.Status.AvailableReplicas)
}

func available(sets []*appsv1.ReplicaSet) (n int32) {
	for _, rs := range sets {
		n += rs.Status.AvailableReplicas
	}
	return n
}

// updateBounds returns how many pods there may be too many and too few of in a rolling update, which must not both be
// none.
func (r *rollout) updateBounds() (surge, unavailable int32) {
	s := &r.d.Spec.Strategy
	if s.Type != appsv1.RollingUpdateDeploymentStrategyType || s.RollingUpdate == nil {
		return 0, 0
	}
	surge, err := intstr.Scaled(s.RollingUpdate.MaxSurge, r.want, true)
	if err == nil {
		unavailable, err = intstr.Scaled(s.RollingUpdate.MaxUnavailable, r.want, false)
	}
	if err != nil {
		return 0, 0 // validation doesn't let it come to that
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // both were rounded away
	}
	return surge, unavailable
}

func (r *rollout) maxSurge() int32 {
	n, _ := r.updateBounds()
	return n
}

func (r *rollout) maxUnavailable() int32 {
	_, n := r.updateBounds()
	return min(n, r.want)
}
