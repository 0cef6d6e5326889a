package endpointslice

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/test/module"
)

// newRequest returns the sync of a service with so many ready pods on nodes of three zones, and no slices yet.
func newRequest(n int) *abi.SyncRequest {
	r := module.Service(6, n)
	for i := 0; i < n; i += 10 {
		k := &corev1.Node{}
		k.Name = module.NodeOf(i)
		k.Labels.Set(corev1.LabelTopologyZone, fmt.Sprintf("zone-%d", i/10%3))
		module.Put(r, 3, k)
	}
	return r
}

// steadyRequest returns the sync of such a service when its slices have been written.
func steadyRequest(t testing.TB, n int) *abi.SyncRequest {
	Plugin.Manifest() // numbers the views
	r := newRequest(n)
	a := sdk.Run(Plugin, r, nil, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		for i := range p.Effects {
			r.Views[4].Objects = append(r.Views[4].Objects, abi.ObjectData{Data: p.Effects[i].Object, ResourceVersion: "1"})
		}
		return module.Succeed(p)
	})
	if a.Error != "" || len(r.Views[4].Objects) != max(1, (n+99)/100) {
		t.Fatalf("%d slices, error %q", len(r.Views[4].Objects), a.Error)
	}
	r.State = a.State
	return r
}

// The module answers byte for byte as the same code does natively.
func TestModuleAnswersAsNativeOnWorlds(t *testing.T) {
	module.Agree(t, Plugin, newRequest(0), newRequest(1), newRequest(1234), steadyRequest(t, 0), steadyRequest(t, 250))
}

var sizes = []int{10, 100, 1000, 5000}

func BenchmarkSteady(b *testing.B) {
	module.BenchSteady(b, Plugin, sizes, func(n int) *abi.SyncRequest { return steadyRequest(b, n) })
}

// BenchmarkFirst is the sync that writes all.
func BenchmarkFirst(b *testing.B) { module.Bench(b, Plugin, sizes, newRequest) }
