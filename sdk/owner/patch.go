package owner

import (
	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/sdk"
)

// adoption is the strategic merge patch that makes owner the controlling owner of o; the UID in it keeps it from
// another object of that name.
func adoption(owner, o sdk.Object, finalizers []string) []byte {
	ref := Ref(owner)
	b := append(make([]byte, 0, 384), `{"metadata":{"ownerReferences":[{"apiVersion":`...)
	b = wire.AppendQuoted(b, ref.APIVersion)
	b = wire.AppendQuoted(append(b, `,"kind":`...), ref.Kind)
	b = wire.AppendQuoted(append(b, `,"name":`...), ref.Name)
	b = wire.AppendQuoted(append(b, `,"uid":`...), string(ref.UID))
	b = append(b, `,"controller":true,"blockOwnerDeletion":true}],"uid":`...)
	b = wire.AppendQuoted(b, string(o.GetObjectMeta().UID))
	return append(appendList(b, "finalizers", finalizers), "}}"...)
}

// release is the patch that takes owner's reference out of o.
func release(owner, o sdk.Object, finalizers []string) []byte {
	b := append(make([]byte, 0, 192), `{"metadata":{"uid":`...)
	b = wire.AppendQuoted(b, string(o.GetObjectMeta().UID))
	b = wire.AppendQuoted(append(b, `,"ownerReferences":[{"$patch":"delete","uid":`...), string(owner.GetObjectMeta().UID))
	b = append(b, "}]"...)
	return append(appendList(b, "$deleteFromPrimitiveList/finalizers", finalizers), "}}"...)
}

func appendList(b []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return b
	}
	b = append(wire.AppendQuoted(append(b, ','), name), ":["...)
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendQuoted(b, v)
	}
	return append(b, ']')
}
