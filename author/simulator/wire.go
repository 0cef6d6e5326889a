package simulator

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	wholejson "k8s.io/apimachinery/pkg/util/json"

	"github.com/windlass-dev/windlass/host/cache"
)

type message interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// typedObject returns the object in the Go type of its kind.
func (k *kind) typedObject(o *Object) (message, error) {
	t := k.schema.New().(message)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, t); err != nil {
		return nil, fmt.Errorf("%s: %w", describeObject(o), err)
	}
	return t, nil
}

// untyped is the object in JSON's form, without what a type's zero values add.
func (k *kind) untyped(t runtime.Object) (*Object, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return nil, err
	}
	data, has := m["data"] // somebody's own, as a ControllerRevision's: it stays as it is
	delete(m, "data")
	pruneEmpty(m)
	if has && data != nil {
		m["data"] = data
	}
	o := &Object{Object: m}
	o.SetAPIVersion(k.apiVersion())
	o.SetKind(k.kind)
	return o, nil
}

// pruneEmpty takes what is null out of an object, and the messages that are there though nothing is in them.
func pruneEmpty(m map[string]any) {
	for name, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, name)
		case map[string]any:
			if pruneEmpty(v); len(v) == 0 && (name == "status" || name == "resources" || name == "strategy" ||
				name == "metadata" || name == "spec" || name == "loadBalancer") {
				delete(m, name)
			}
		case []any:
			for _, x := range v {
				if x, ok := x.(map[string]any); ok {
					pruneEmpty(x)
				}
			}
		}
	}
}

// canonical brings an object into the form in which it is compared and kept.
func (k *kind) canonical(o *Object) (*Object, error) {
	if k.custom {
		o = o.DeepCopy()
		return o, nil
	}
	t, err := k.typedObject(o)
	if err != nil {
		return nil, err
	}
	return k.untyped(t)
}

// encodeObject returns the object's message on the wire.
func (k *kind) encodeObject(o *Object) ([]byte, error) {
	if k.custom {
		return encodeCustom(o)
	}
	t, err := k.typedObject(o)
	if err != nil {
		return nil, err
	}
	return t.Marshal()
}

// decodeObject reads a message.
func (k *kind) decodeObject(raw []byte) (*Object, error) {
	t := k.schema.New().(message)
	if err := t.Unmarshal(raw); err != nil {
		return nil, err
	}
	return k.untyped(t)
}

// parseJSON reads JSON.
func parseJSON(b []byte) (*Object, error) {
	o := &Object{}
	if err := wholejson.Unmarshal(b, &o.Object); err != nil {
		return nil, err
	}
	return o, nil
}

// cacheObject returns the object as the host's caches have it.
func (k *kind) cacheObject(o *Object) (*cache.Object, error) {
	bare := o.DeepCopy()
	bare.SetResourceVersion("")
	raw, err := k.encodeObject(bare)
	if err != nil {
		return nil, err
	}
	return &cache.Object{Resource: k.schema, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		ResourceVersion: o.GetResourceVersion(), Raw: raw}, nil
}
