package api

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// forgiven returns the object of an update at the version that its resource has by now, where only changes that nobody has
// asked for yet (see Changes) lie between that and the version it was made from: the client's own of the same sync.
func (c *Cluster) forgiven(res *resource, r *Request) runtime.Object {
	o := r.Sent.DeepCopyObject()
	sent, err := meta.Accessor(o)
	if err != nil || !c.Forgiving {
		return o
	}
	key := c.key(res, sent)
	own := slices.ContainsFunc(c.memory.changes, func(x change) bool { return x.key == key && version(x.old) == sent.GetResourceVersion() })
	if now := version(c.memory.objects[key]); own && now != "" {
		sent.SetResourceVersion(now)
	}
	return o
}

// version returns an object's version, nothing of nothing.
func version(o runtime.Object) string {
	if o == nil {
		return ""
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return m.GetResourceVersion()
}
