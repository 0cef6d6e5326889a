package tracing

import (
	"reflect"
	"testing"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/configtest"
)

// A change of any field has spans sent anew, or is refused.
func TestEveryFieldIsFollowed(t *testing.T) {
	for _, path := range configtest.Fields(reflect.TypeFor[config.Tracing]()) {
		tracer := &Tracer{}
		c := &config.Tracing{Endpoint: "127.0.0.1:1", SamplingRatePerMillion: 7, TLS: config.TracingTLS{Enabled: true}}
		if err := tracer.Configure(c); err != nil {
			t.Fatal(err)
		}
		before, next := tracer.live.Load(), *c
		configtest.Change(&next, path)
		if err := tracer.Configure(&next); err == nil && tracer.live.Load() == before {
			t.Errorf("%s isn't followed", path)
		}
		tracer.Close()
	}
}
