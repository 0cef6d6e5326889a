package deployment

import (
	"strconv"

	"github.com/windlass-dev/windlass/plugins/shared/podtemplate"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// The reasons of the events about rollbacks.
const (
	rolledBack       = "DeploymentRollback"
	revisionNotFound = "DeploymentRollbackRevisionNotFound"
	templateSame     = "DeploymentRollbackTemplateUnchanged"
)

// rollbackTo is the revision that the Deployment is asked to go back to, 0 for the last one (extensions/v1beta1's
// rollbackTo, which lives on as an annotation).
func rollbackTo(d *appsv1.Deployment) (int64, bool) {
	return decimal.Parse(d.Annotations.Get(appsv1.DeprecatedRollbackTo))
}

// rollBack puts into the Deployment the template and the annotations of the set with the revision. Whatever comes of
// it, the wish is taken off the Deployment.
func (r *rollout) rollBack(to int64) error {
	if r.new == nil {
		if err := r.createNewSet(); err != nil {
			return err
		}
	}
	if !resource.Equal(r.seen, r.d) {
		if err := r.c.Do(sdk.UpdateStatus(r.d)); err != nil {
			return err
		}
	}
	x := copyDeployment(r.d)
	to, done := r.takeTemplate(x, to)
	x.Annotations.Delete(appsv1.DeprecatedRollbackTo)
	r.c.Update(x)
	if done {
		r.recordEvent(corev1.EventTypeNormal, rolledBack,
			"Rolled back deployment "+quoteName(x.Name)+" to revision "+strconv.FormatInt(to, 10))
	}
	return r.c.After(1) // its own update wakes nobody
}

// takeTemplate returns the revision that was gone back to. Where it leaves the Deployment as it is, an event tells why.
func (r *rollout) takeTemplate(d *appsv1.Deployment, to int64) (int64, bool) {
	if to == 0 {
		if to = lastRevision(r.allSets()); to == 0 {
			r.recordEvent(corev1.EventTypeWarning, revisionNotFound, "Unable to find last revision.")
			return 0, false
		}
	}
	for _, rs := range r.allSets() {
		if n, ok := revision(rs); !ok || n != to {
			continue
		}
		if podtemplate.Equal(&d.Spec.Template, &rs.Spec.Template) {
			r.recordEvent(corev1.EventTypeWarning, templateSame,
				"The rollback revision contains the same template as current deployment "+quoteName(d.Name))
			return 0, false
		}
		labels := rs.Spec.Template.Labels
		labels.Delete(podtemplate.HashLabel)
		podtemplate.Relabel(&d.Spec.Template, &rs.Spec.Template, labels)
		exchange(d, rs)
		return to, true
	}
	r.recordEvent(corev1.EventTypeWarning, revisionNotFound, "Unable to find the revision to rollback to.")
	return 0, false
}

// exchange gives the Deployment the set's annotations for its own, which the rollout hands to the set: so each set
// keeps what it was annotated with in its time.
func exchange(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	keep := d.Annotations[:0:0]
	for _, a := range d.Annotations {
		if reserved(a.Key) {
			keep = append(keep, a)
		}
	}
	for _, a := range rs.Annotations {
		if !reserved(a.Key) {
			keep = append(keep, a)
		}
	}
	d.Annotations = keep
}

// lastRevision returns the revision before the highest.
func lastRevision(sets []*appsv1.ReplicaSet) int64 {
	first, second := int64(0), int64(0)
	for _, rs := range sets {
		switch n, ok := revision(rs); {
		case !ok:
		case n >= first:
			first, second = n, first
		case n > second:
			second = n
		}
	}
	return second
}
