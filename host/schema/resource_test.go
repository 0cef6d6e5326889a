package schema

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

func mustFor(t testing.TB, group, version, name string) *Resource {
	t.Helper()
	r, err := For(abi.Resource{Group: group, Version: version, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryBuiltInResourceIsDescribed(t *testing.T) {
	reviews := 0
	for _, r := range All() {
		if _, err := For(r); err != nil {
			t.Errorf("%s: %v", r, err)
		}
		reviews++
	}
	if reviews < 100 {
		t.Errorf("only %d resources", reviews)
	}
}

func TestFor(t *testing.T) {
	for _, c := range []struct {
		group, version, name, kind string
		namespaced                 bool
	}{
		{"", "v1", "pods", "Pod", true},
		{"", "v1", "nodes", "Node", false},
		{"", "v1", "endpoints", "Endpoints", true},
		{"", "v1", "namespaces", "Namespace", false},
		{"apps", "v1", "replicasets", "ReplicaSet", true},
		{"networking.k8s.io", "v1", "ingresses", "Ingress", true},
		{"networking.k8s.io", "v1", "ipaddresses", "IPAddress", false},
		{"storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", true},
		{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false},
		{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true},
		{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true},
		{"coordination.k8s.io", "v1", "leases", "Lease", true},
	} {
		r := mustFor(t, c.group, c.version, c.name)
		if r.Kind != c.kind || r.Namespaced != c.namespaced {
			t.Errorf("%s: %s, namespaced %v", r.Resource, r.Kind, r.Namespaced)
		}
	}

	_, err := For(abi.Resource{Group: "apps", Version: "v1", Name: "pods"})
	if err == nil || !strings.Contains(err.Error(), "there is v1/pods") {
		t.Error(err)
	}
}
