// Package process sets up what a whole process shares: its log, and its memory, of which a start collects seldom and
// which is given back after a burst of work.
//
// Go collects garbage when the heap has doubled. After a start, or a burst of work, a manager that has nothing to do
// would hold on to twice of what it needs for as long as it has nothing to do.
package process

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// period is how often it is looked whether there is work.
	period = 5 * time.Second
	// quiet is how much a process allocates in a period in which it has nothing to do but to listen.
	quiet = 4 << 20
	// burst is what must have been allocated since the last time, for a collection to be worth its processor time. That
	// of the start always is: what it leaves would stay for good.
	burst = 32 << 20
	// seldom is how far apart collections that were asked for are at least: of a large heap one takes 0.1 s.
	seldom = 5 * time.Minute
)

// Trimmer gives memory back after bursts of work.
type Trimmer struct {
	sample      [1]metrics.Sample
	last, after uint64    // what was allocated so far when it looked last, and when it trimmed last
	trimmed     time.Time // when it did that
	asked       atomic.Bool
	started     func()
	free        func()
}

// NewTrimmer makes a Trimmer. It calls started once when the first burst, that of the start, is over.
func NewTrimmer(started func()) *Trimmer {
	t := &Trimmer{started: sync.OnceFunc(started), free: debug.FreeOSMemory}
	t.sample[0].Name = "/gc/heap/allocs:bytes"
	t.last = t.allocated()
	return t
}

// Run trims until the context ends.
func (t *Trimmer) Run(ctx context.Context) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.trimAfterBurst()
		}
	}
}

// Ask has it trim when there is nothing to do, for something large was let go of.
func (t *Trimmer) Ask() { t.asked.Store(true) }

func (t *Trimmer) allocated() uint64 {
	metrics.Read(t.sample[:])
	return t.sample[0].Value.Uint64()
}

// trimAfterBurst trims if there was a burst, and it is over.
func (t *Trimmer) trimAfterBurst() {
	now := t.allocated()
	over := now-t.last < quiet
	t.last = now
	if over {
		t.started()
	}
	if over && t.isDue(now) {
		t.free()
		t.last = t.allocated()
		t.after, t.trimmed = t.last, time.Now()
		t.asked.Store(false)
	}
}

// isDue reports whether it pays to trim, after so much was allocated.
func (t *Trimmer) isDue(now uint64) bool {
	return t.after == 0 || now-t.after > burst || t.asked.Load() && time.Since(t.trimmed) > seldom
}
