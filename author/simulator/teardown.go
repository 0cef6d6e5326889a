package simulator

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// keyResources are the resources whose objects are the keys of controllers under test.
func (r *run) keyResources() []abi.Resource {
	all := map[abi.Resource]bool{}
	for _, s := range r.process.slots {
		if s.Tested && s.plan.ObjectKeys() {
			m := s.manifest()
			all[m.Views[m.Key.View].Resource] = true
		}
	}
	return schema.Sorted(all)
}

// keyObjects are the keys' objects that people made.
func (r *run) keyObjects() (objects []*Object, kinds []*kind) {
	for _, res := range r.keyResources() {
		if r.cluster.kinds[res] == nil {
			continue // all resources
		}
		for _, o := range r.cluster.sortedObjects(res) {
			if _, ours := r.made[o.GetUID()]; !ours && len(o.GetOwnerReferences()) == 0 && r.stands[o.GetUID()] == nil &&
				!isPresetNamespace(o) {
				objects, kinds = append(objects, o), append(kinds, r.cluster.kinds[res])
			}
		}
	}
	return objects, kinds
}

// isPresetNamespace reports whether an object is a namespace, in which other objects of the world may live, which
// deleting would take away: namespaces go last.
func isPresetNamespace(o *Object) bool {
	return o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1"
}

// teardown deletes the keys' objects.
func (r *run) teardown() error {
	objects, kinds := r.keyObjects()
	if len(objects) == 0 {
		return nil
	}
	policy := metav1.DeletePropagationBackground
	if r.scenario.Foreground {
		policy = metav1.DeletePropagationForeground
	}
	r.begin()
	for i, o := range objects {
		if err := r.deleteKeyObject(kinds[i], o, &policy); err != nil {
			return err
		}
	}
	return r.runUntilIdle()
}

func (r *run) deleteKeyObject(k *kind, o *Object, policy *metav1.DeletionPropagation) error {
	r.logStep("delete " + describeObject(o))
	err := r.cluster.deleteObject(k, o, &metav1.DeleteOptions{PropagationPolicy: policy})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// teardownNamespaces deletes the namespaces that are keys, when all else has been looked at.
func (r *run) teardownNamespaces() error {
	if !slices.Contains(r.keyResources(), namespaces) {
		return nil
	}
	r.begin()
	for _, o := range r.cluster.sortedObjects(namespaces) {
		if err := r.deleteKeyObject(r.cluster.kinds[namespaces], o, nil); err != nil {
			return err
		}
	}
	return r.runUntilIdle()
}

// leftovers reports the objects that the syncs of deleted objects have made, and the deleted objects that are still
// there.
func (r *run) leftovers() {
	objects, kinds := r.cluster.everything()
	for i, o := range objects {
		x, ours := r.made[o.GetUID()]
		if !ours || x.owner == "" || slices.Contains(r.world.keep, kinds[i].Resource.String()) {
			continue
		}
		if owner, _ := r.cluster.findByUID(x.owner); owner == nil {
			r.found(Finding{Check: Leftover, At: fmt.Sprintf("step %d: %s", x.step, x.at),
				Message: fmt.Sprintf("%s stays though the object that it was made for is gone: give it an owner reference, or clean it up under a finalizer", describeObject(o))})
		}
	}
	keys, _ := r.keyObjects()
	for _, o := range keys {
		if o.GetDeletionTimestamp() != nil && !r.isWaiting(o) {
			r.found(Finding{Check: Finalizer,
				Message: fmt.Sprintf("%s was deleted and can't go: it waits for its finalizers %q; remove yours when the clean-up is done", describeObject(o), o.GetFinalizers())})
		}
	}
}

// isWaiting reports whether an object's key is still to be synced, where a run that doesn't end was cut off.
func (r *run) isWaiting(o *Object) bool {
	if !r.endless {
		return false
	}
	for _, s := range r.process.slots {
		for _, k := range s.readyKeys() {
			if s.Tested && k.Namespace == o.GetNamespace() && k.Name == o.GetName() {
				return true
			}
		}
	}
	return false
}
