package deployment

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/podtemplate"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// The annotations that a Deployment and its sets bear.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history" // the revisions that a set has had before
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas" // the Deployment's size when the set was last sized
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"     // and that with its surge
)

// historyMax is how long the list of a set's former revisions may become.
const historyMax = 2000

// reserved returns the annotations that a Deployment and its sets each have for themselves.
func reserved(annotation string) bool {
	switch annotation {
	case revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation, corev1.LastAppliedConfigAnnotation,
		appsv1.DeprecatedRollbackTo:
		return true
	}
	return false
}

// revision is a set's revision; 0 where it has none, false where it can't be read.
func revision(rs *appsv1.ReplicaSet) (int64, bool) {
	text := rs.Annotations.Get(revisionAnnotation)
	if text == "" {
		return 0, !rs.Annotations.Has(revisionAnnotation)
	}
	return decimal.Parse(text)
}

// nextRevision returns the revision of the new set: one more than any old one's.
func (r *rollout) nextRevision() int64 {
	last := int64(0)
	for _, rs := range r.old {
		if n, ok := revision(rs); ok {
			last = max(last, n)
		}
	}
	return last + 1
}

// syncRevision returns the new set, where there is one, its revision and what else it takes over from the Deployment,
// and the Deployment the new set's revision.
func (r *rollout) syncRevision() error {
	if r.new == nil {
		return nil
	}
	rs := copyReplicaSet(r.new)
	follows := r.annotate(rs) || rs.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds
	if follows {
		rs.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
		if err := r.c.Do(sdk.Update(rs)); err != nil {
			return err
		}
	}
	r.new = rs // its annotations are written with its size where they aren't by themselves

	r.setRevision(rs.Annotations.Get(revisionAnnotation))
	if !follows && r.hasDeadline() && condition(r.d, appsv1.DeploymentProgressing) == nil {
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, foundSet,
			"Found new replica set "+quoteName(rs.Name))
	}
	return nil
}

// annotate puts into a set the Deployment's annotations and the next revision, if that is higher than what it has; it
// tells whether anything has changed.
func (r *rollout) annotate(rs *appsv1.ReplicaSet) bool {
	changed := false
	for _, a := range r.d.Annotations {
		if v, ok := rs.Annotations.Lookup(a.Key); !reserved(a.Key) && (!ok || v != a.Value) {
			rs.Annotations.Set(a.Key, a.Value)
			changed = true
		}
	}
	text, had := rs.Annotations.Lookup(revisionAnnotation)
	before, ok := decimal.Parse(text)
	if !ok && text != "" {
		return false // someone else's: nothing of it is ours to change
	}
	if next := r.nextRevision(); before < next {
		rs.Annotations.Set(revisionAnnotation, strconv.FormatInt(next, 10))
		changed = true
		if had {
			rs.Annotations.Set(historyAnnotation, remember(rs.Annotations.Get(historyAnnotation), text))
		}
	}
	return changed
}

// remember appends a revision to a set's history, from which the first fall out when it becomes too long.
func remember(history, revision string) string {
	for history != "" && len(history)+1+len(revision) > historyMax {
		_, history, _ = strings.Cut(history, ",")
	}
	if history == "" {
		return revision
	}
	return history + "," + revision
}

func (r *rollout) setRevision(revision string) {
	if r.d.Annotations.Get(revisionAnnotation) != revision {
		r.d.Annotations.Set(revisionAnnotation, revision)
	}
}

// createNewSet makes the new set. The Deployment's conditions tell how that went.
func (r *rollout) createNewSet() error {
	if err := r.waitAfterCollisions(); err != nil {
		return err
	}
	rs := r.buildNewSet()
	n := desiredReplicas(rs)
	switch err := r.c.Do(sdk.Create(rs)); {
	case err == nil:
		r.new = rs
		if n > 0 {
			r.recordEvent(corev1.EventTypeNormal, scaling, "Scaled up replica set "+rs.Name+" from 0 to "+formatInt(n))
		}
		if r.hasDeadline() {
			r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, createdSet,
				"Created new replica set "+quoteName(rs.Name))
		}
	case sdk.Failed(err, sdk.AlreadyExists):
		live, getErr := sdk.Get(r.c, appsv1.ReplicaSets, rs.Namespace, rs.Name)
		if getErr != nil {
			return getErr
		}
		if !metav1.IsControlledBy(&live.ObjectMeta, &r.d.ObjectMeta) ||
			!podtemplate.Equal(&live.Spec.Template, &r.d.Spec.Template) {
			count := int32(1) // of collisions: the next attempt takes another hash
			if r.d.Status.CollisionCount != nil {
				count += *r.d.Status.CollisionCount
			}
			r.d.Status.CollisionCount = &count
			r.writeStatus()
			return err
		}
		r.new = live // the cache doesn't show it yet
	case sdk.Failed(err, sdk.NamespaceTerminating):
		r.writeStatus() // that it was resumed, say
		return err
	default:
		message := "Failed to create new replica set " + quoteName(rs.Name) + ": " + err.Error()
		r.recordEvent(corev1.EventTypeWarning, createFailed, message)
		if r.hasDeadline() {
			r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, createFailed, message)
			r.writeStatus()
		}
		return err
	}

	r.setRevision(strconv.FormatInt(r.nextRevision(), 10))
	return nil
}

// nameMax is how long a set's name may be.
const nameMax = 253

// buildNewSet returns the new set as it should be made.
func (r *rollout) buildNewSet() *appsv1.ReplicaSet {
	d := r.d
	hash := podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
	rs := &appsv1.ReplicaSet{}
	rs.Namespace, rs.Name = d.Namespace, d.Name[:min(len(d.Name), nameMax-1-len(hash))]+"-"+hash
	rs.OwnerReferences = []metav1.OwnerReference{owner.Ref(d)}
	rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	rs.Labels = withLabel(d.Spec.Template.Labels, podtemplate.HashLabel, hash)
	podtemplate.Relabel(&rs.Spec.Template, &d.Spec.Template, rs.Labels)
	rs.Spec.Selector = &metav1.LabelSelector{}
	if d.Spec.Selector != nil {
		*rs.Spec.Selector = *d.Spec.Selector
	}
	rs.Spec.Selector.MatchLabels = withLabel(rs.Spec.Selector.MatchLabels, podtemplate.HashLabel, hash)
	n := int32(0)
	rs.Spec.Replicas = &n
	n = r.newSetLimit(append(slices.Clip(r.old), rs), rs)
	r.annotate(rs)
	r.noteSize(rs)
	return rs
}

func withLabel(m wire.StringMap, key, value string) wire.StringMap {
	m = m.Clone()
	m.Set(key, value)
	return m
}

// cleanUp deletes the oldest of the old sets, as far as they have no pods, until as many are left as the Deployment
// wants to remember.
func (r *rollout) cleanUp() {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 || r.sized {
		return
	}
	var alive []*appsv1.ReplicaSet
	for _, rs := range r.old {
		if !rs.Deleting() {
			alive = append(alive, rs)
		}
	}

	// A revision that can't be read makes the order below a circle. Which set is the oldest then hangs on where the sort
	// begins: with upstream's at the newest where it has just looked for what to scale.
	if r.d.Spec.Paused {
		slices.Reverse(alive)
	}
	slices.SortStableFunc(alive, func(a, b *appsv1.ReplicaSet) int {
		x, okA := revision(a)
		y, okB := revision(b)
		if !okA || !okB || x == y {
			return compareByAge(a, b)
		}
		return int(min(max(x-y, -1), 1))
	})
	for i := range len(alive) - int(*limit) {
		rs := alive[i]
		if rs.Status.Replicas == 0 && desiredReplicas(rs) == 0 && rs.Generation <= rs.Status.ObservedGeneration {
			r.c.Add(sdk.Delete(rs, sdk.Tolerate(abi.TolerateNotFound)))
		}
	}
}
