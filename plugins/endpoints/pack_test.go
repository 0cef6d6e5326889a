package endpoints

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/resource"
)

// Endpoints hold 1,000 addresses, ready ones before others, of each subset in proportion.
func TestTruncate(t *testing.T) {
	list := func(n int) []*address { return make([]*address, n) }
	for _, x := range []struct {
		name       string
		have, want [][2]int // by subset: ready, not ready
		cut        bool
	}{
		{"just enough", [][2]int{{900, 100}}, [][2]int{{900, 100}}, false},
		{"not ready ones go", [][2]int{{900, 101}}, [][2]int{{900, 100}}, true},
		{"all that aren't ready go", [][2]int{{1000, 5}}, [][2]int{{1000, 0}}, true},
		{"ready ones go, too", [][2]int{{1500, 5}}, [][2]int{{1000, 0}}, true},
		{"in proportion, rounded up while there is room", [][2]int{{1000, 7}, {1000, 0}, {1000, 0}},
			[][2]int{{334, 0}, {334, 0}, {332, 0}}, true},
		{"not ready ones in proportion", [][2]int{{400, 300}, {400, 100}}, [][2]int{{400, 150}, {400, 50}}, true},
	} {
		var subsets []subset
		for _, n := range x.have {
			subsets = append(subsets, subset{ready: list(n[0]), notReady: list(n[1])})
		}

		if cut := truncate(subsets); cut != x.cut {
			t.Errorf("%s: cut %v", x.name, cut)
		}
		for i, n := range x.want {
			if got := [2]int{len(subsets[i].ready), len(subsets[i].notReady)}; got != n {
				t.Errorf("%s: subset %d has %v, want %v", x.name, i, got, n)
			}
		}
	}
}

// Endpoints that were cut say so, and are not written again while nothing changes.
func TestOverCapacity(t *testing.T) {
	Plugin.Manifest() // numbers the views
	r := steadyRequest(t, 1200)
	var e corev1.Endpoints
	if err := resource.Decode(r.Views[3].Objects[0].Data, &e); err != nil {
		t.Fatal(err)
	}
	if v := e.Annotations.Get(corev1.EndpointsOverCapacity); v != "truncated" || len(e.Subsets) != 1 ||
		len(e.Subsets[0].Addresses) != 1000 {
		t.Errorf("%q, %d subsets", v, len(e.Subsets))
	}
	sdk.Run(Plugin, r, nil, func(*abi.PerformRequest) (*abi.PerformResponse, error) {
		t.Error("written again")
		return nil, nil
	})
}
