package daemonset

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/plugins/shared/form"
	"github.com/windlass-dev/windlass/plugins/shared/history"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/labels"
	"github.com/windlass-dev/windlass/sdk/owner"
)

// findRevision finds the revision of the template among those that are the DaemonSet's, or creates it. It is the one
// with the highest number.
func (d *daemon) findRevision() error {
	if err := labels.Check(d.ds.Spec.Selector); err != nil {
		return err
	}
	owned, err := owner.Claim(d.c, d.ds, revisions.List(d.c),
		func(r *appsv1.ControllerRevision) bool { return labels.Selects(d.ds.Spec.Selector, r.Labels) })
	if err != nil {
		return err
	}

	for i, r := range owned {
		if r.Labels.Has(hashLabel) {
			continue
		}
		r = ownRevision(r)
		r.Labels.Set(hashLabel, r.Name) // no hash, but as good as one
		if err := d.c.Do(sdk.Update(r)); err != nil {
			return err
		}
		owned[i] = r
	}

	data, err := history.Data(&d.ds.Spec.Template)
	if err != nil {
		return err
	}

	current, old := history.Split(owned, data)
	d.old = old
	next := history.Next(old)
	if len(current) == 0 {
		return d.createRevision(data, next)
	}

	r, err := d.mergeDuplicates(current)
	if err != nil {
		return err
	}
	if r.Revision < next { // rolled back
		r = ownRevision(r)
		r.Revision = next
		if err := d.c.Do(sdk.Update(r)); err != nil {
			return err
		}
	}
	d.hash = r.Labels.Get(hashLabel)
	return nil
}

// mergeDuplicates leaves of revisions that say the same the one with the highest number, of several such always the
// same one. The pods of the others become its pods.
func (d *daemon) mergeDuplicates(current []*appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	history.Sort(current)
	keep := current[len(current)-1]
	if len(current) == 1 {
		return keep, nil
	}
	if err := d.claimPods(); err != nil {
		return nil, err
	}

	hash := keep.Labels.Get(hashLabel)
	patch := []byte(`{"metadata":{"labels":{"` + hashLabel + `":"` + hash + `"}}}`)
	for i, p := range d.pods {
		if p.Labels.Get(hashLabel) == hash {
			continue
		}
		if err := d.c.Do(sdk.Patch(p, abi.MergePatch, patch)); err != nil {
			return nil, err
		}
		p = sdk.Copy(p)
		p.Labels = p.Labels.Clone()
		p.Labels.Set(hashLabel, hash)
		d.pods[i] = p
	}

	for _, r := range current {
		if r == keep {
			continue
		}
		if err := d.c.Do(sdk.Delete(r)); err != nil {
			return nil, err
		}
	}
	return keep, nil
}

// createRevision makes the template's revision. Its name comes of its hash: if another template has the same, the
// number of collisions goes up, and the next sync finds another name.
func (d *daemon) createRevision(data []byte, number int64) error {
	hash, err := form.TemplateHash(&d.ds.Spec.Template, d.ds.Status.CollisionCount)
	if err != nil {
		return err
	}
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace:       d.ds.Namespace,
		Name:            d.ds.Name + "-" + hash,
		Labels:          d.ds.Spec.Template.Labels.Clone(),
		Annotations:     d.ds.Annotations,
		OwnerReferences: []metav1.OwnerReference{owner.Ref(d.ds)},
	}, Revision: number}
	r.Data.Raw = data
	r.Labels.Set(hashLabel, hash)
	name := r.Name
	err = d.c.Do(sdk.Create(r))
	if sdk.Failed(err, sdk.AlreadyExists) {
		r, err = d.collide(name, data, err)
	}
	if err != nil {
		return err
	}
	d.hash = r.Labels.Get(hashLabel)
	return nil
}

// collide looks at what has the name already: it is the revision, created just now, or another one.
func (d *daemon) collide(name string, data []byte, exists error) (*appsv1.ControllerRevision, error) {
	live, err := sdk.Get(d.c, appsv1.ControllerRevisions, d.ds.Namespace, name)
	if err != nil {
		return nil, err
	}
	if same, _ := history.Split([]*appsv1.ControllerRevision{live}, data); len(same) > 0 {
		return live, nil
	}

	ds, err := sdk.Get(d.c, appsv1.DaemonSets, d.ds.Namespace, d.ds.Name)
	if err != nil {
		return nil, err
	}

	// The name came of the cached count.
	if a, b := ds.Status.CollisionCount, d.ds.Status.CollisionCount; (a == nil) != (b == nil) || a != nil && *a != *b {
		return nil, sdk.Errors("found a stale collision count (", formatCount(b), ", expected ", formatCount(a),
			") of DaemonSet \"",
			d.ds.Name, "\" while processing; will retry until it is updated")
	}

	n := int32(1)
	if ds.Status.CollisionCount != nil {
		n += *ds.Status.CollisionCount
	}

	ds = sdk.Copy(ds)
	ds.Status.CollisionCount = &n
	if err := d.c.Do(sdk.UpdateStatus(ds)); err != nil {
		return nil, err
	}
	return nil, exists
}

func formatCount(n *int32) string {
	if n == nil {
		return "none"
	}
	return strconv.Itoa(int(*n))
}

// cleanUp deletes revisions of former templates that are too many, the oldest first, without those that pods are of.
func (d *daemon) cleanUp() {
	limit := 10 // the API's default
	if n := d.ds.Spec.RevisionHistoryLimit; n != nil {
		limit = int(*n)
	}
	surplus := len(d.old) - limit
	if surplus <= 0 {
		return
	}
	history.Sort(d.old)
	for _, r := range d.old {
		if surplus > 0 && !d.hasPods(r) {
			d.c.Delete(r)
			surplus--
		}
	}
}

func (d *daemon) hasPods(r *appsv1.ControllerRevision) bool {
	hash := r.Labels.Get(hashLabel)
	for _, p := range d.pods {
		if l := p.Labels.Get(hashLabel); l != "" && l == hash {
			return true
		}
	}
	return false
}

// ownRevision is a revision whose labels and number may be changed.
func ownRevision(r *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	r = sdk.Copy(r)
	r.Labels = r.Labels.Clone()
	return r
}
