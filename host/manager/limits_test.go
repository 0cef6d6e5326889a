package manager

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/plugins"
)

// What may be sent is the operator's word; a multiple of it is for the manifests of built-in plugins to ask for.
func TestRequestRates(t *testing.T) {
	for _, x := range []struct {
		origin string
		asks   abi.Rate
		qps    float32
		burst  int
	}{
		{plugins.OriginBuiltin, abi.Rate{}, 20, 30},
		{plugins.OriginBuiltin, abi.Rate{QPS: 20, Burst: 100}, 400, 3000},
		{"plugins/greedy.wasm", abi.Rate{QPS: 20, Burst: 100}, 20, 30},
		{"registry.example.com/greedy@sha256:0", abi.Rate{QPS: 20, Burst: 100}, 20, 30},
	} {
		k := config.Plugin{}
		k.API.QPS, k.API.Burst = 20, 30
		qps, burst := requestRate(k, &plugins.Plugin{Origin: x.origin}, &abi.Controller{Rate: x.asks})
		if qps != x.qps || burst != x.burst {
			t.Errorf("%s that asks for %+v: %v and %d, expected %v and %d",
				x.origin, x.asks, qps, burst, x.qps, x.burst)
		}
	}
}

// What a shadow takes leaves the plugin its own.
func TestShadowsHaveMemoryOfTheirOwn(t *testing.T) {
	all := budget.NewTotal(1 << 30)
	p := config.Plugin{Name: "p"}
	p.Budget.Memory = *resource.NewQuantity(100, resource.BinarySI)
	l := newLimits(p, all)
	if err := l.ofShadow().memory.Take(budget.Instances, 100); err != nil {
		t.Fatal(err)
	}
	if err := l.memory.Take(budget.Instances, 100); err != nil || all.Held() != 200 {
		t.Errorf("%v, %d bytes are held", err, all.Held())
	}
	l.close()
	if n := all.Held(); n != 0 {
		t.Errorf("%d bytes are held for a plugin that is gone", n)
	}
}
