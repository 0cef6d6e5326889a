package endpoints

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	"github.com/windlass-dev/windlass/test/module"
)

// newRequest returns the sync of a service with so many ready pods and no Endpoints yet.
func newRequest(n int) *abi.SyncRequest { return module.Service(5, n) }

// steadyRequest returns the sync of such a service when its Endpoints have been written.
func steadyRequest(t testing.TB, n int) *abi.SyncRequest {
	Plugin.Manifest() // numbers the views
	r := newRequest(n)
	a := sdk.Run(Plugin, r, nil, func(p *abi.PerformRequest) (*abi.PerformResponse, error) {
		for i := range p.Effects {
			r.Views[3].Objects = append(r.Views[3].Objects, abi.ObjectData{Data: p.Effects[i].Object, ResourceVersion: "1"})
		}
		return module.Succeed(p)
	})
	if a.Error != "" || len(r.Views[3].Objects) != 1 {
		t.Fatalf("%d Endpoints, error %q", len(r.Views[3].Objects), a.Error)
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
