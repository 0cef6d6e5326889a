package simulator

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// kind is what the cluster knows of a resource.
type kind struct {
	abi.Resource
	kind       string
	namespaced bool
	// status tells that the status is written by a subresource of its own.
	status bool
	// generation tells that changes other than those of metadata and status are counted.
	generation bool
	// schema is that of the objects on the wire.
	schema *schema.Resource
	// custom tells that the resource was defined in the world; defaults are those of its definition.
	custom   bool
	defaults map[string]any
}

func (k *kind) apiVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// counted are the groups and kinds of built-in objects that have a generation.
var counted = map[string][]string{
	"":                  {"Pod", "ReplicationController"},
	"apps":              nil, // all
	"batch":             nil,
	"policy":            nil,
	"networking.k8s.io": {"Ingress", "NetworkPolicy"},
	"discovery.k8s.io":  nil,
}

// builtinKind describes a built-in resource.
func builtinKind(r abi.Resource) (*kind, error) {
	s, err := schema.For(r)
	if err != nil {
		return nil, err
	}
	k := &kind{Resource: r, kind: s.Kind, namespaced: s.Namespaced, schema: s, status: len(s.Message.Lookup("status")) > 0}
	if kinds, ok := counted[r.Group]; ok && (kinds == nil || slices.Contains(kinds, s.Kind)) &&
		r.Name != "controllerrevisions" {
		k.generation = true
	}
	return k, nil
}

// definitions are the kinds that a CustomResourceDefinition defines, one for each version that is served.
func definitions(crd *unstructured.Unstructured) (all []*kind, err error) {
	defined, err := schema.Definitions(crd)
	if err != nil {
		return nil, err
	}

	for _, d := range defined {
		k := &kind{
			Resource: d.Resource.Resource, kind: d.Kind, namespaced: d.Namespaced, generation: true, custom: true,
			schema: d.Resource,
		}
		_, k.status, _ = unstructured.NestedMap(d.Version, "subresources", "status")
		k.defaults, _, _ = unstructured.NestedMap(d.Version, "schema", "openAPIV3Schema")
		all = append(all, k)
	}

	return all, nil
}

// setDefaults fills in what a definition's schema has defaults for.
func setDefaults(value any, s map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			p, ok := p.(map[string]any)
			if !ok {
				continue
			}
			if d, has := p["default"]; has {
				if v, set := value[name]; !set || v == nil && p["nullable"] != true {
					value[name] = deepCopy(d)
				}
			}
			if v, set := value[name]; set {
				setDefaults(v, p)
			}
		}
		if more, ok := s["additionalProperties"].(map[string]any); ok {
			for name, v := range value {
				if _, known := properties[name]; !known {
					setDefaults(v, more)
				}
			}
		}
	case []any:
		if items, ok := s["items"].(map[string]any); ok {
			for _, v := range value {
				setDefaults(v, items)
			}
		}
	}
}

// findKind finds the kind of an object.
func (c *Cluster) findKind(apiVersion, name string) (*kind, error) {
	for _, k := range c.kinds {
		if k.kind == name && k.apiVersion() == apiVersion {
			return k, nil
		}
	}
	var near []string
	for _, k := range c.kinds {
		if strings.EqualFold(k.kind, name) {
			near = append(near, k.apiVersion()+" "+k.kind)
		}
	}
	hint := "give its CustomResourceDefinition to the simulation (crd/*.yaml, or among the objects)"
	if len(near) > 0 {
		slices.Sort(near)
		hint = "there is " + strings.Join(near, ", ")
	}
	return nil, fmt.Errorf("%s %s is not a resource of the simulated cluster: %s", apiVersion, name, hint)
}
