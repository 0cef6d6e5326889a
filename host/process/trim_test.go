package process

import (
	"runtime"
	"testing"
)

var sink []byte

func TestTrimsOnceAfterABurst(t *testing.T) {
	trims := 0
	x := NewTrimmer(func() {})
	x.free = func() { trims++ }
	allocate := func(n int) {
		for range n >> 20 {
			sink = make([]byte, 1<<20)
		}
	}

	look := func(when string, want int) {
		t.Helper()
		x.trimAfterBurst()
		if trims != want {
			t.Fatalf("%s: trimmed %d times, want %d", when, trims, want)
		}
	}

	allocate(quiet + 1<<20)
	look("in the midst of a small start", 0)
	look("when it is over", 1)
	allocate(burst + quiet)
	look("in the midst of a burst", 1)
	look("when that is over", 2)
	look("with nothing to do", 2)
	for range 8 {
		allocate(quiet / 4)
		look("with little to do", 2)
	}
	allocate(burst)
	look("in the midst of work", 2)
	look("when it is over again", 3)
	x.Ask()
	look("asked for, soon after another one", 3)
	x.trimmed = x.trimmed.Add(-seldom)
	look("asked for, long after", 4)
	x.trimmed = x.trimmed.Add(-seldom)
	look("not asked for any more", 4)
}

// What a burst leaves is given back.
func TestGivesMemoryBack(t *testing.T) {
	x := NewTrimmer(func() {})
	large := make([]byte, 256<<20)
	for i := range large {
		large[i] = 1
	}
	x.trimAfterBurst()
	runtime.KeepAlive(large)
	large = nil
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	before := held()
	x.trimAfterBurst()
	if now := held(); now > before-200<<20 {
		t.Errorf("%d MB are held after a burst of 256 MB, %d MB in it", now>>20, before>>20)
	}
}
