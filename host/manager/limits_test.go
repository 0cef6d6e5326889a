package manager

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/config"
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
