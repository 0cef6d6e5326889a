package statefulset

import (
	"bytes"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/history"
	"github.com/windlass-dev/windlass/plugins/shared/podtemplate"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// adoptHistory takes stock of the revisions that the set selects, and adopts those that have no owner; one that turns
// out to be gone is left out. Revisions that the set owns and doesn't select are left alone.
func (r *rollout) adoptHistory() error {
	var orphans []*appsv1.ControllerRevision
	for _, v := range revisions.List(r.c) {
		if !labels.Selects(r.set.Spec.Selector, v.Labels) {
			continue
		}
		if metav1.GetControllerOf(&v.ObjectMeta) == nil && !v.Deleting() && !r.set.Deleting() {
			orphans = append(orphans, v)
		} else {
			r.history = append(r.history, v)
		}
	}

	adopted, err := owner.Claim(r.c, r.set, orphans, func(*appsv1.ControllerRevision) bool { return true })
	r.history = append(r.history, adopted...)
	history.Sort(r.history)
	return err
}

// findRevisions finds the revision of the set's template, or makes it: the newest with the same bytes, and where an
// older one has them, that one becomes the newest; else the newest if it means the same (unless the gate byMeaning is
// off). Then it finds the revision that the set comes from.
func (r *rollout) findRevisions() error {
	if n := r.set.Status.CollisionCount; n != nil {
		r.collisions = *n
	}
	data, err := history.FloatData(&r.set.Spec.Template)
	if err != nil {
		return err
	}

	equal, _ := history.Split(r.history, data)
	newest := lastOrNil(r.history)
	switch same := lastOrNil(equal); {
	case same != nil && (same == newest || r.leavesAlone(same)):
		r.update = same
	case same != nil:
		r.update = sdk.Copy(same)
		r.update.Revision = history.Next(r.history)
		err = r.c.Do(sdk.Update(r.update))
	case newest != nil && byMeaning.On(r.c) && isEquivalent(newest, data):
		r.update = newest
	default:
		err = r.createRevision(data)
	}

	if err != nil {
		return err
	}
	r.current = r.update
	for _, v := range r.history {
		if v.Name == r.set.Status.CurrentRevision {
			r.current = v
			break
		}
	}
	return nil
}

// isEquivalent reports whether a set that went back to the revision would have this data, though the bytes of theirs
// differ: the revision lacks what a newer API server fills in. No pod is replaced for that (upstream's gate
// StatefulSetSemanticRevisionComparison). What a template spells out that admission would add to a pod is a change.
func isEquivalent(v *appsv1.ControllerRevision, data []byte) bool {
	t, err := history.Template(v)
	if err != nil {
		return false // nobody could go back to it
	}
	podtemplate.Default(t)
	again, err := history.FloatData(t)
	return err == nil && bytes.Equal(again, data)
}

func lastOrNil(l []*appsv1.ControllerRevision) *appsv1.ControllerRevision {
	if len(l) == 0 {
		return nil
	}
	return l[len(l)-1]
}

// createRevision makes a revision of the set's template. Where its name is taken by another template's, it counts the
// collision and tries the next name.
func (r *rollout) createRevision(data []byte) error {
	hash := history.Hash(data, &r.collisions)
	for {
		v := &appsv1.ControllerRevision{}
		v.Namespace, v.Name = r.set.Namespace, history.Name(r.set.Name, history.Hash(data, &r.collisions))
		v.Labels, v.Annotations = r.set.Spec.Template.Labels.Clone(), r.set.Annotations
		v.Labels.Set("controller.kubernetes.io/hash", hash)
		v.OwnerReferences = []metav1.OwnerReference{owner.Ref(r.set)}
		v.Data.Raw, v.Revision = data, history.Next(r.history)
		name := v.Name
		err := r.c.Do(sdk.Create(v))
		if err == nil {
			r.update = v
			return nil
		}

		if !sdk.Failed(err, sdk.AlreadyExists) {
			return err
		}
		live, err := sdk.Get(r.c, appsv1.ControllerRevisions, r.set.Namespace, name)
		if err != nil {
			return err
		}
		if bytes.Equal(live.Data.Raw, data) {
			r.update = live // the cache doesn't show it yet
			return nil
		}
		r.collisions++
	}
}

// leavesAlone reports whether a revision isn't the set's to change or to delete: one without an owner while the set is
// being deleted. Somebody may let its revisions and pods go for the next set, which is to find them.
func (r *rollout) leavesAlone(v *appsv1.ControllerRevision) bool {
	return r.set.Deleting() && metav1.GetControllerOf(&v.ObjectMeta) == nil
}

// truncateHistory deletes the oldest of the revisions that nothing is of any more, until no more of these are left than
// the set wants. It does so whatever else has failed.
func (r *rollout) truncateHistory() {
	limit := r.set.Spec.RevisionHistoryLimit
	if limit == nil || *limit < 0 {
		return
	}
	var dead []*appsv1.ControllerRevision
	for _, v := range r.history {
		live := r.leavesAlone(v) || v.Name == r.status.CurrentRevision || v.Name == r.status.UpdateRevision
		for _, p := range r.owned {
			live = live || revision(p) == v.Name
		}
		if !live {
			dead = append(dead, v)
		}
	}
	for i := range len(dead) - int(*limit) {
		_ = r.c.Delete(dead[i], sdk.Tolerate(abi.TolerateNotFound), sdk.Always())
	}
}
