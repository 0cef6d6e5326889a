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
	if kinds, ok := counted[r.Group]; ok && (kinds == nil || slices.Contains(kinds, s.Kind)) && r.Name != "controllerrevisions" {
		k.generation = true
	}
	return k, nil
}

// definitions are the resources that a CustomResourceDefinition defines, one for each version that is served.
func definitions(crd *unstructured.Unstructured) (all []*kind, err error) {
	spec, _, _ := unstructured.NestedMap(crd.Object, "spec")
	group, _, _ := unstructured.NestedString(spec, "group")
	plural, _, _ := unstructured.NestedString(spec, "names", "plural")
	name, _, _ := unstructured.NestedString(spec, "names", "kind")
	scope, _, _ := unstructured.NestedString(spec, "scope")
	if group == "" || plural == "" || name == "" {
		return nil, fmt.Errorf("CustomResourceDefinition %s: spec.group, spec.names.plural and spec.names.kind must be set", crd.GetName())
	}
	versions, _, _ := unstructured.NestedSlice(spec, "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] == false {
			continue
		}
		number, _, _ := unstructured.NestedString(version, "name")
		r := abi.Resource{Group: group, Version: number, Name: plural}
		k := &kind{Resource: r, kind: name, namespaced: scope != "Cluster", generation: true, custom: true}
		_, k.status, _ = unstructured.NestedMap(version, "subresources", "status")
		k.defaults, _, _ = unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if k.schema, err = customSchema(r, name, k.namespaced); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.GetName(), err)
		}
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
					value[name] = copyOf(d)
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

// kindOf finds the kind of an object.
func (c *Cluster) kindOf(apiVersion, name string) (*kind, error) {
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
