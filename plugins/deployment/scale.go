package deployment

import (
	"math"
	"slices"
	"strconv"

	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
)

// scaling is the reason of the events about sizes.
const scaling = "ScalingReplicaSet"

// rescale scales if the Deployment has got another size since its active sets were sized, and tells whether there was
// anything to do. If there was not, for one set has the right size already or the strategy is Recreate, the rollout
// goes on; upstream's stands still until somebody changes a set.
func (r *rollout) rescale() bool {
	for _, rs := range activeSets(r.allSets()) {
		if n, ok := annotated(rs, desiredAnnotation); ok && n != r.want {
			r.scaleSets()
			break
		}
	}
	return r.sized
}

// scaleSets gives the sets their shares of the Deployment's size. That it happens to all alike, old and new, keeps the
// risk of an unfinished rollout what it was.
func (r *rollout) scaleSets() {
	old := slices.Clone(r.old)
	slices.Reverse(old) // newest first
	all := old
	if r.new != nil {
		all = append(all, r.new)
	}
	act := activeSets(all)
	switch {
	case len(all) == 0:
	case len(act) == 0 && r.new != nil:
		r.resizeSet(r.new, r.want, false)
	case len(act) == 0:
		r.resizeSet(old[0], r.want, false)
	case len(act) == 1:
		r.resizeSet(act[0], r.want, false)
	case r.saturated():
		for _, rs := range activeSets(old) {
			r.resizeSet(rs, 0, false)
		}
	case r.d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		r.distribute(act)
	}
}

// saturated reports whether the new set can do without the old ones.
func (r *rollout) saturated() bool {
	if r.new == nil {
		return false
	}
	n, ok := annotated(r.new, desiredAnnotation)
	return ok && n == r.want && desiredReplicas(r.new) == r.want && r.new.Status.AvailableReplicas == r.want
}

// distribute divides what there is to add or to take among the sets, in proportion to their sizes: the largest first,
// of equals the newest when growing, the oldest when shrinking. The largest gets what rounding leaves.
func (r *rollout) distribute(sets []*appsv1.ReplicaSet) {
	allowed := int32(0)
	if r.want > 0 {
		allowed = r.want + r.maxSurge()
	}
	left := allowed - totalDesired(sets)
	if left != 0 {
		sortBySize(sets, left > 0)
	}

	sizes := make([]int32, len(sets))
	add := left
	for i, rs := range sets {
		sizes[i] = desiredReplicas(rs)
		if left != 0 {
			share := r.proportionOf(rs)
			if add > 0 {
				share = min(share, left)
			} else {
				share = max(share, left)
			}
			sizes[i] += share
			left -= share
		}
	}

	sizes[0] = max(0, sizes[0]+left)
	for i, rs := range sets {
		r.resizeSet(rs, sizes[i], true)
	}
}

// sortBySize puts the largest sets first.
func sortBySize(sets []*appsv1.ReplicaSet, newestFirst bool) {
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		switch n := desiredReplicas(b) - desiredReplicas(a); {
		case n != 0:
			return int(n)
		case newestFirst:
			return compareByAge(b, a)
		}
		return compareByAge(a, b)
	})
}

// proportionOf returns what the set should get of a change: what keeps it the same part of the Deployment with its
// surge.
func (r *rollout) proportionOf(rs *appsv1.ReplicaSet) int32 {
	if r.want == 0 {
		return -desiredReplicas(rs)
	}
	before, ok := annotated(rs, maxAnnotation)
	if !ok || before == 0 {
		before = r.d.Status.Replicas // someone has tampered with the annotation
	}
	if before == 0 {
		return 0
	}
	part := 2*int64(desiredReplicas(rs))*int64(r.want+r.maxSurge()) + int64(before) // rounded half up
	return int32(part/(2*int64(before))) - desiredReplicas(rs)
}

// resizeSet updates the set's size, noting for what size of the Deployment. Without force it leaves a set of the right
// size alone. It tells whether the size changes.
func (r *rollout) resizeSet(rs *appsv1.ReplicaSet, n int32, force bool) bool {
	from := desiredReplicas(rs)
	if from == n && !force {
		return false
	}
	x := copyReplicaSet(rs)
	if !r.noteSize(x) && from == n {
		return false
	}
	x.Spec.Replicas = &n
	r.c.Update(x)
	r.sized = true
	if from == n {
		return false
	}
	way := "up"
	if n < from {
		way = "down"
	}
	r.recordEvent(corev1.EventTypeNormal, scaling, "Scaled "+way+" replica set "+rs.Name+" from "+formatInt(from)+" to "+
		formatInt(n))
	return true
}

// noteSize notes in a set's annotations the Deployment's size, and that with its surge; it tells whether they said
// otherwise.
func (r *rollout) noteSize(rs *appsv1.ReplicaSet) bool {
	desired, most := formatInt(r.want), formatInt(r.want+r.maxSurge())
	if rs.Annotations.Get(desiredAnnotation) == desired && rs.Annotations.Get(maxAnnotation) == most {
		return false
	}
	rs.Annotations.Set(desiredAnnotation, desired)
	rs.Annotations.Set(maxAnnotation, most)
	return true
}

// annotated is the number in an annotation.
func annotated(rs *appsv1.ReplicaSet, annotation string) (int32, bool) {
	n, ok := decimal.Parse(rs.Annotations.Get(annotation))
	return int32(n), ok && n >= 0 && n <= math.MaxInt32
}

func formatInt(n int32) string { return strconv.Itoa(int(n)) }

func (r *rollout) recordEvent(eventType, reason, message string) {
	r.c.Event(r.seen, eventType, reason, message)
}
