package api

import (
	"encoding/json"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// forgiven returns the object of an update as if it had been made from the version that its resource has by now, where
// only changes that nobody has asked for yet (see Changes) lie between that and the version it was made from: the
// client's own of the same sync, which stay.
func (c *Cluster) forgiven(res *resource, r *Request) (runtime.Object, error) {
	o := r.Sent.DeepCopyObject()
	sent, err := meta.Accessor(o)
	if err != nil || !c.Forgiving {
		return o, nil
	}
	key := c.key(res, sent)
	i := slices.IndexFunc(c.memory.changes, func(x change) bool {
		return x.key == key &&
			version(x.old) == sent.GetResourceVersion()
	})
	if now := c.memory.objects[key]; i >= 0 && now != nil {
		sent.SetResourceVersion("")
		return res.rebased(o, c.memory.changes[i].old, now)
	}
	return o, nil
}

// rebased makes of what was made from an old version the same of another one.
func (res *resource) rebased(o, old, now runtime.Object) (runtime.Object, error) {
	var text [3][]byte
	for i, x := range []runtime.Object{o, old, now} {
		v, err := res.external(x)
		if err != nil {
			return nil, err
		}
		if text[i], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}

	change, err := jsonpatch.CreateMergePatch(text[1], text[0])
	if err != nil {
		return nil, err
	}

	merged, err := jsonpatch.MergePatch(text[2], change)
	if err != nil {
		return nil, err
	}

	out, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), merged)
	if err != nil {
		return nil, err
	}

	m, err := meta.Accessor(out)
	if err == nil {
		m.SetResourceVersion(version(now))
	}
	return out, err
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
