package garbagecollector

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// All patches are merge patches, which custom resources take as well, and name the version that they were made from, as
// they replace whole lists.

// without takes the object's references to an owner away.
func without(o *sdk.Metadata, owner metav1.UID) sdk.Effect {
	var kept []metav1.OwnerReference
	for i := range o.OwnerReferences {
		if o.OwnerReferences[i].UID != owner {
			kept = append(kept, o.OwnerReferences[i])
		}
	}
	return references(o, kept)
}

// unblocked has the object hold up none of its owners.
func unblocked(o *sdk.Metadata) sdk.Effect {
	no := false
	all := append([]metav1.OwnerReference(nil), o.OwnerReferences...)
	for i := range all {
		if isSetTrue(all[i].BlockOwnerDeletion) {
			all[i].BlockOwnerDeletion = &no
		}
	}
	return references(o, all)
}

// references makes these the object's references to its owners.
func references(o *sdk.Metadata, all []metav1.OwnerReference) sdk.Effect {
	return mergePatch(o, "ownerReferences", len(all), func(b []byte, i int) []byte {
		return wire.AppendJSON(b, unsafe.Pointer(&all[i]), &metav1.OwnerReferenceTable)
	})
}

// finalized takes a finalizer away.
func finalized(o *sdk.Metadata, finalizer string) sdk.Effect {
	var kept []string
	for _, f := range o.Finalizers {
		if f != finalizer {
			kept = append(kept, f)
		}
	}
	e := mergePatch(o, "finalizers", len(kept), func(b []byte, i int) []byte { return wire.AppendQuoted(b, kept[i]) })
	sdk.Tolerate(abi.TolerateNotFound)(&e)
	return e
}

func mergePatch(o *sdk.Metadata, field string, n int, element func(b []byte, i int) []byte) sdk.Effect {
	b := append([]byte(nil), `{"metadata":{"`+field+`":`...)
	if n == 0 {
		b = append(b, "null}}"...)
	} else {
		for i := range n {
			b = append(b, "[,"[min(i, 1)])
			b = element(b, i)
		}
		b = append(b, "]}}"...)
	}
	e := sdk.Patch(o, abi.MergePatch, b)
	sdk.IfUnchanged()(&e)
	return e
}
