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
)

// TrimMemory trims until the context ends. It calls started once when the first burst, that of the start, is over.
func TrimMemory(ctx context.Context, started func()) {
	t := newTrimmer()
	t.started = sync.OnceFunc(started)
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

// trimmer knows what was allocated so far when it looked last, and when it trimmed last.
type trimmer struct {
	sample      [1]metrics.Sample
	last, after uint64
	started     func()
	free        func()
}

func newTrimmer() *trimmer {
	t := &trimmer{started: func() {}, free: debug.FreeOSMemory}
	t.sample[0].Name = "/gc/heap/allocs:bytes"
	t.last = t.allocated()
	return t
}

func (t *trimmer) allocated() uint64 {
	metrics.Read(t.sample[:])
	return t.sample[0].Value.Uint64()
}

// trimAfterBurst trims if there was a burst, and it is over.
func (t *trimmer) trimAfterBurst() {
	now := t.allocated()
	over := now-t.last < quiet
	t.last = now
	if over {
		t.started()
	}
	if over && (t.after == 0 || now-t.after > burst) {
		t.free()
		t.last = t.allocated()
		t.after = t.last
	}
}
