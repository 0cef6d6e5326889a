package views

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// A snapshot points at what the cache holds: what it allocates doesn't grow with the objects in it. An event that
// changes nothing that is read allocates nothing; one that wakes keys, some for each controller.
func TestAllocations(t *testing.T) {
	small, large := 0.0, 0.0
	for n, allocations := range map[int]*float64{10: &small, 1000: &large} {
		w, plans := crowdedWorld(t, 2, n, shapes[0])
		var s Snapshot
		*allocations = testing.AllocsPerRun(50, func() {
			if err := plans[0].Snapshot(w, abi.KeyRef{Namespace: "x", Name: "set-1"}, &s); err != nil {
				t.Fatal(err)
			}
		})
		if got := len(s.Rows(1)); got != n {
			t.Fatalf("%d pods in the snapshot, want %d", got, n)
		}
	}
	if large > small+5 {
		t.Errorf("a snapshot of 1,000 pods: %v allocations; of 10: %v", large, small)
	}

	controllers := []abi.Controller{shapes[0], shapes[2], shapes[3], shapes[5], shapes[7], shapes[9]}
	w, plans := crowdedWorld(t, 20, 20, controllers...)
	router := NewRouter(w, pods)
	woken := 0
	for _, p := range plans {
		if _, err := router.Add(p, pods, nil, func(abi.KeyRef, time.Duration) { woken++ }); err != nil {
			t.Fatal(err)
		}
	}
	running, _ := w.applyObject(pods, "x", "set-3-7", benchPod("set-3", 7, "Running"))
	failed, _ := w.applyObject(pods, "x", "set-3-7", benchPod("set-3", 7, "Failed"))
	unread := *failed.New
	unread.Raw = append(unread.Raw[:len(unread.Raw):len(unread.Raw)], 0xf8, 0x07, 1) // a field of a newer API server
	for name, c := range map[string]struct {
		event cache.Event
		most  float64
		wakes bool
	}{
		"status": {cache.Event{Resource: w.schemas[pods], Old: running.New, New: failed.New},
			float64(6 * len(controllers)), true},
		"nothing that is read": {cache.Event{Resource: w.schemas[pods], Old: failed.New, New: &unread}, 0, false},
	} {
		woken = 0
		if got := testing.AllocsPerRun(50, func() { router.OnEvent(c.event) }); got > c.most || (woken > 0) != c.wakes {
			t.Errorf("%s: %v allocations, at most %v; %d keys woken", name, got, c.most, woken)
		}
	}
}
