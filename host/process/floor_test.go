package process

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentage(t *testing.T) {
	for live, want := range map[uint64]int{0: 200, 4 << 20: 200, 5 << 20: 140, 6 << 20: 100, 40 << 20: 100, 1 << 40: 100} {
		if got := percentage(live); got != want {
			t.Errorf("a live heap of %d MiB: %d, want %d", live>>20, got, want)
		}
	}
}

// What lives is kept in view: a small heap is collected at the floor, a large one as Go does, and each after the start.
func TestStart(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	end := StartMemory()
	target := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NextGC
	}

	after := func(what string, holds func(uint64) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(target()); runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%s: the next collection is at %d MiB", what, target()>>20)
			}
		}
	}

	runtime.GC()
	after("a small heap", func(n uint64) bool { return n > floor/2 && n < floor*3/2 })
	large := make([]byte, 200<<20)
	runtime.GC()
	after("a large heap", func(n uint64) bool { return n > 380<<20 && n < 440<<20 })
	runtime.KeepAlive(large)
	large = nil
	runtime.GC()
	after("a small heap again", func(n uint64) bool { return n > floor/2 && n < floor*3/2 })
	end()
	runtime.GC()
	after("after the start", func(n uint64) bool { return n < floor/2 })
}

func TestGOGC(t *testing.T) {
	t.Setenv("GOGC", "100")
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	StartMemory()
	if was := debug.SetGCPercent(usual); was != usual {
		t.Errorf("GOGC is set, and yet it is %d", was)
	}
}
