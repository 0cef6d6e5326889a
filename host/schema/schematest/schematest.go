// Package schematest turns objects of Kubernetes' Go types into the bytes that the host works on, and back, in tests.
package schematest

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// Resource returns what is known of a resource by its name, such as apps/v1/deployments.
func Resource(t testing.TB, name string) *schema.Resource {
	t.Helper()
	r, ok := abi.ParseResource(name)
	if !ok {
		t.Fatalf("%q is no resource", name)
	}
	res, err := schema.For(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Marshal returns an object's protobuf.
func Marshal(t testing.TB, o runtime.Object) []byte {
	t.Helper()
	b, err := o.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Unmarshal returns the object of a resource that has this protobuf.
func Unmarshal(t testing.TB, res *schema.Resource, raw []byte) runtime.Object {
	t.Helper()
	o := res.New()
	if err := o.(interface{ Unmarshal([]byte) error }).Unmarshal(raw); err != nil {
		t.Fatalf("%s: %v", res, err)
	}
	return o
}
