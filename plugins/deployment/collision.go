package deployment

import (
	"time"

	"github.com/windlass-dev/windlass/plugins/shared/podtemplate"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// collisionMost is how long a Deployment waits at most for its next set where the last ones weren't of its template.
const collisionMost = 30 * time.Second

// waitAfterCollisions fails while it is too early for another set after the last one. Where admission changes the
// template of each ReplicaSet, none is the new one: the next is made, collides with it, and is made under another name,
// without end. From the second such collision on a second lies between two sets, twice as long after each later one, up
// to [collisionMost].
func (r *rollout) waitAfterCollisions() error {
	n := sdk.Deref(r.d.Status.CollisionCount, 0)
	if n < 2 {
		return nil
	}
	last := r.collidedAt(n)
	wait := min(time.Second<<min(n-2, 5), collisionMost) - r.c.Now().Sub(last)
	if last.IsZero() || wait <= 0 {
		return nil
	}

	// Without their number, by which each would be another event.
	const message = "ReplicaSets made for this template differ from it, and are made again under other names: " +
		"look for a webhook that changes ReplicaSets"
	if r.c.Attempt() == 0 {
		r.recordEvent(corev1.EventTypeWarning, "ReplicaSetCollision", message)
	}
	r.writeStatus()
	r.c.After(wait) // the key's back-off may be longer
	return sdk.Errors(message)
}

// collidedAt returns when the set was made that had the Deployment count its nth collision; unset where that isn't one
// of its own, made for this template.
func (r *rollout) collidedAt(n int32) (at metav1.Time) {
	n--
	hash := podtemplate.Hash(&r.d.Spec.Template, &n)
	for _, rs := range r.old {
		if rs.Labels.Get(podtemplate.HashLabel) == hash {
			return rs.CreationTimestamp
		}
	}
	return at
}
