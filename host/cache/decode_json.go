package cache

import (
	"encoding/json"
	"fmt"

	"github.com/windlass-dev/windlass/host/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// decodeJSON is decode of what a resource that isn't built in comes in: JSON, of which each object is brought into its
// form on the wire.
func (d *decoder) decodeJSON(data []byte, into runtime.Object) (runtime.Object, *kschema.GroupVersionKind, error) {
	list, isList := into.(*List)
	if isList {
		return d.listJSON(list, data)
	}
	o, got, err := d.objectJSON(data)
	if isStatus(got) {
		s := &metav1.Status{}
		return s, got, json.Unmarshal(data, s)
	}
	if err != nil {
		return nil, got, err
	}
	return o, got, nil
}

func isStatus(k *kschema.GroupVersionKind) bool {
	return k != nil && k.Kind == "Status" && k.GroupVersion() == metav1.Unversioned
}

func (d *decoder) listJSON(l *List, data []byte) (runtime.Object, *kschema.GroupVersionKind, error) {
	var apiVersion, kind string
	items := false
	err := schema.EachMember(data, func(name, value []byte) error {
		switch string(name) {
		case "apiVersion":
			return json.Unmarshal(value, &apiVersion)
		case "kind":
			return json.Unmarshal(value, &kind)
		case "metadata":
			return json.Unmarshal(value, &l.ListMeta)
		case "items":
			items = true
			if string(value) == "null" {
				return nil
			}
			return schema.EachElement(value, func(item []byte) error {
				o, _, err := d.objectJSON(item)
				if err != nil {
					return fmt.Errorf("item %d: %w", len(l.Items), err)
				}
				if o.Name == "" {
					return fmt.Errorf("item %d has no name", len(l.Items))
				}
				l.Items = append(l.Items, o)
				return nil
			})
		}

		return nil
	})

	got := kschema.FromAPIVersionAndKind(apiVersion, kind)
	switch {
	case err != nil:
		return nil, &got, err
	case isStatus(&got):
		s := &metav1.Status{}
		return s, &got, json.Unmarshal(data, s)
	case !items:
		return nil, &got, fmt.Errorf("the answer is a %s %s, not a list", apiVersion, kind)
	}

	return l, &got, nil
}

// objectJSON is object of JSON. Of an object of another kind it gives that, and an error; items of lists needn't say
// theirs.
func (d *decoder) objectJSON(data []byte) (*Object, *kschema.GroupVersionKind, error) {
	s := d.scratch.Get().(*scratch)
	defer d.scratch.Put(s)
	raw, apiVersion, kind, err := schema.FromJSON(s.wire[:0], data, d.entire)
	s.wire = raw[:0]
	if err != nil {
		return nil, nil, err
	}
	if len(kind) > 0 && (string(kind) != d.resource.Kind && d.resource.Kind != "" || string(apiVersion) != d.apiVersion) {
		got := kschema.FromAPIVersionAndKind(string(apiVersion), string(kind))
		return nil, &got, fmt.Errorf("the answer is a %s %s, not a %s %s", apiVersion, kind, d.apiVersion, d.resource.Kind)
	}
	o, err := d.decodeObject(raw)
	return o, &d.kind, err
}
