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
