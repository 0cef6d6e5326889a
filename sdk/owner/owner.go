// Package owner settles which objects a controller's object owns.
package owner

import (
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Ref is the reference that makes o the controlling owner of the object that bears it.
func Ref(o sdk.Object) metav1.OwnerReference {
	r := o.GetResource()
	return metav1.NewControllerRef(o.GetObjectMeta(), r.APIVersion(), r.Kind)
}

// SetController makes o the controlling owner of child, which is then deleted after it. It fails where another object
// controls child already, and where o lies in another namespace, whose objects the garbage collector takes for owners
// that are gone.
func SetController(child, o sdk.Object) error {
	m, by := child.GetObjectMeta(), o.GetObjectMeta()
	if o.GetResource().Namespaced && m.Namespace != by.Namespace {
		return sdk.Errors(child.GetResource().Kind, " ", m.Namespace, "/", m.Name, " can't be owned by ",
			o.GetResource().Kind, " ", by.Namespace, "/", by.Name,
			": an owner must be in the same namespace, or in none")
	}
	if c := metav1.GetControllerOf(m); c != nil && c.UID != by.UID {
		return sdk.Errors(child.GetResource().Kind, " ", m.Namespace, "/", m.Name, " is controlled by ", c.Kind, " ", c.Name,
			" already")
	}
	refs := make([]metav1.OwnerReference, 0, len(m.OwnerReferences)+1)
	for i := range m.OwnerReferences {
		if m.OwnerReferences[i].UID != by.UID {
			refs = append(refs, m.OwnerReferences[i])
		}
	}
	m.OwnerReferences = append(refs, Ref(o))
	return nil
}
