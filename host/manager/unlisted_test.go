package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// A group version whose discovery fails counts as unlisted from the first failure on, but for metrics APIs, until
// discovery tells of it.
func TestUnknownGroupVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newMonitors(&stores{patience: time.Minute})
		down := abi.DiscoveryFailure{GroupVersion: "down.example.com/v1", Message: "it is down"}
		metrics := abi.DiscoveryFailure{GroupVersion: "metrics.k8s.io/v1beta1", Message: "so is this"}
		r := &reader{}
		r.parts.Store(&parts{})
		began := time.Now()
		for range 2 {
			x.noteUnknown([]abi.DiscoveryFailure{down, metrics})
			time.Sleep(time.Second)
		}

		all := x.unlistedFor(r)
		want := abi.Resource{Group: "down.example.com", Version: "v1", Name: "*"}
		if len(all) != 1 || all[0].Resource != want || all[0].why != "it is down" || !all[0].since.Equal(began) {
			t.Errorf("unlisted are %+v", all)
		}
		if u, ok := x.firstUnknown(schema.Any); !ok || u != want {
			t.Errorf("of all resources, %v isn't known", u)
		}
		if _, ok := x.firstUnknown(abi.Resource{Version: "v1", Name: "pods"}); ok {
			t.Error("pods are known")
		}
		x.noteUnknown([]abi.DiscoveryFailure{metrics})
		if all := x.unlistedFor(r); len(all) > 0 {
			t.Errorf("once it is known, unlisted are %+v", all)
		}
	})
}
