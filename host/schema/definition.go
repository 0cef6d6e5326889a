package schema

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/windlass-dev/windlass/abi"
)

// Defined is a resource that a CustomResourceDefinition defines, in one of its versions.
type Defined struct {
	*Resource
	// Version is what the definition says of the version: subresources, schema, ...
	Version map[string]any
}

// Definitions returns the resources that a CustomResourceDefinition defines, one for each version that is served.
func Definitions(crd *unstructured.Unstructured) (all []Defined, err error) {
	spec, _, _ := unstructured.NestedMap(crd.Object, "spec")
	group, _, _ := unstructured.NestedString(spec, "group")
	plural, _, _ := unstructured.NestedString(spec, "names", "plural")
	kind, _, _ := unstructured.NestedString(spec, "names", "kind")
	scope, _, _ := unstructured.NestedString(spec, "scope")
	if group == "" || plural == "" || kind == "" {
		return nil, fmt.Errorf("CustomResourceDefinition %s: spec.group, spec.names.plural and spec.names.kind must be set",
			crd.GetName())
	}

	versions, _, _ := unstructured.NestedSlice(spec, "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] == false {
			continue
		}
		name, _, _ := unstructured.NestedString(version, "name")
		r := abi.Resource{Group: group, Version: name, Name: plural}
		all = append(all, Defined{Custom(r, kind, scope != "Cluster"), version})
	}

	return all, nil
}
