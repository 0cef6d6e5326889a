package controller

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/tracing"
)

// waits is the queue's storage, whose order is that of turns. While syncs are traced it remembers since when each key
// waits, and what has held it back.
type waits struct {
	workqueue.Queue[Key]
	tracer *tracing.Tracer

	used atomic.Bool // since syncs were not traced last
	mu   sync.Mutex
	keys map[Key]*waiting
}

// waiting is a key that waits.
type waiting struct {
	since time.Time
	holds []hold
}

// hold is a turn that a key had and didn't take.
type hold struct {
	at  time.Time
	why string
	on  string // the resource that it waits for, if it is that
}

// holdsMost bounds what is remembered of a key.
const holdsMost = 8

func newWaits(t *tracing.Tracer, order workqueue.Queue[Key]) *waits {
	return &waits{Queue: order, tracer: t, keys: map[Key]*waiting{}}
}

// Push is the queue's: the key may have its turn from now on.
func (w *waits) Push(k Key) {
	w.Queue.Push(k)
	if w.tracer.On() {
		w.changeWaiting(k, func(x *waiting) { x.since = time.Now() })
	} else if w.used.Load() {
		w.forgetAll()
	}
}

// noteHold notes that the key's turn came and it had to wait.
func (w *waits) noteHold(k Key, why string, on abi.Resource) {
	if w.tracer.On() {
		w.changeWaiting(k, func(x *waiting) {
			if len(x.holds) < holdsMost {
				h := hold{at: time.Now(), why: why}
				if on.Name != "" {
					h.on = on.String()
				}
				x.holds = append(x.holds, h)
			}
		})
	}
}

func (w *waits) changeWaiting(k Key, change func(*waiting)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used.Store(true)
	x := w.keys[k]
	if x == nil {
		x = &waiting{}
		w.keys[k] = x
	}
	change(x)
}

// takeWaiting returns what is known of a key that is synced now.
func (w *waits) takeWaiting(k Key) waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.keys[k]
	if x == nil {
		return waiting{}
	}
	delete(w.keys, k)
	return *x
}

// forgetAll ends the remembering, as nothing is traced any more.
func (w *waits) forgetAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = map[Key]*waiting{}
	w.used.Store(false)
}

// startSpan begins the span of a sync, nil where it isn't traced.
func (c *Controller) startSpan(ctx context.Context, v *Version, k Key) (context.Context, *tracing.Span) {
	if !c.Tracer.On() {
		return ctx, nil
	}
	before := c.waits.takeWaiting(k)
	ctx, span := c.Tracer.Root(ctx, "sync")
	if span == nil {
		return ctx, nil
	}
	span.Text("windlass.controller", c.name)
	span.Text("windlass.plugin", v.Plugin)
	span.Text("windlass.plugin.digest", v.Digest)
	span.Text("windlass.key", k.String())
	span.Int("windlass.attempt", int64(c.queue.NumRequeues(k)))
	if !before.since.IsZero() {
		span.Seconds("windlass.queue.seconds", time.Since(before.since))
	}
	for _, h := range before.holds {
		if h.on != "" {
			span.Event(h.why, h.at, "windlass.resource", h.on)
		} else {
			span.Event(h.why, h.at, "", "")
		}
	}
	return ctx, span
}

// finished ends the span of a sync.
func finished(span *tracing.Span, s *Sync, err error) {
	if span == nil {
		return
	}
	span.Text("windlass.result", s.Result)
	span.Int("windlass.effects", int64(s.Effects))
	if s.Result != syncer.OK && s.Result != syncer.Deferred {
		span.Fail(syncer.Cause(s.Result, err))
	}
	span.End()
}

// shortDigest returns enough of a digest to tell versions apart.
func shortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}
