package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// floor is up to where a heap may grow at the start before it is collected. Below it Go would collect each time that a
	// few megabytes had come, which is a fifteenth of the processor time of a start. A floor of 48 MiB would save three
	// times as much, and leave 5 MiB more in use for good: what lives on lies between what doesn't.
	floor = 12 << 20
	// usual is Go's own percentage, which holds where twice the live heap is more than the floor.
	usual = 100
	// step is by how much the percentage must differ to be worth changing.
	step = 10
)

// StartMemory has a small heap grow up to the floor before it is collected, until end is called. Who sets GOGC decides
// alone.
func StartMemory() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	f := &collections{percent: usual}
	f.setPercent(percentage(0))
	f.watchCollections()
	return f.end
}

// collections adjusts the percentage after each collection.
type collections struct {
	mu      sync.Mutex
	sample  [1]metrics.Sample
	percent int
	ended   bool
}

// watchCollections is called after each collection: by the finalizer of an object that nobody holds.
func (f *collections) watchCollections() {
	runtime.SetFinalizer(&struct{ _ *byte }{}, func(any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.ended {
			return
		}
		f.sample[0].Name = "/gc/heap/live:bytes"
		metrics.Read(f.sample[:])
		f.setPercent(percentage(f.sample[0].Value.Uint64()))
		f.watchCollections()
	})
}

func (f *collections) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.setPercent(usual)
}

func (f *collections) setPercent(percent int) {
	if percent < f.percent-step || percent > f.percent+step || percent == usual && f.percent != usual {
		f.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentage is by how much of itself a live heap may grow.
func percentage(live uint64) int {
	const least = 4 << 20 // Go's own floor, to which the percentage applies while there is nothing yet
	return max(usual, int(floor*100/max(live, least))-100)
}
