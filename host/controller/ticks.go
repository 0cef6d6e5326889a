package controller

import (
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// ticks tells a queue when to count anew for how long its keys have been synced, which client-go does twice a second:
// here only while any is, so that a controller with nothing to do costs nothing. It is the queue's clock, that clock's
// one ticker, and the queue's storage, which knows when a key begins.
type ticks struct {
	clock.RealClock
	workqueue.Queue[Key]
	busy func() bool // whether a key is being synced

	c     chan time.Time
	every atomic.Int64 // nanoseconds; 0: nobody wants any yet
	begun atomic.Int64 // keys
	runs  atomic.Bool  // the timer
	timer *time.Timer
	last  atomic.Int64 // begun at the last tick
}

func newTicks(order workqueue.Queue[Key], busy func() bool) *ticks {
	t := &ticks{Queue: order, busy: busy, c: make(chan time.Time, 1)}
	t.timer = time.AfterFunc(time.Hour, t.tick)
	t.timer.Stop()
	return t
}

// Pop is the queue's: a key begins.
func (t *ticks) Pop() Key {
	t.begun.Add(1)
	t.run()
	return t.Queue.Pop()
}

func (t *ticks) run() {
	if every := t.every.Load(); every > 0 && t.runs.CompareAndSwap(false, true) {
		t.timer.Reset(time.Duration(every))
	}
}

// tick tells the queue, and goes on while there is something to tell: once more when all have ended.
func (t *ticks) tick() {
	t.runs.Store(false)
	if begun := t.begun.Load(); begun != t.last.Load() || t.busy() {
		t.last.Store(begun)
		t.run()
	}
	select {
	case t.c <- time.Now():
	default: // it hasn't taken the one before
	}
}

// NewTicker is the clock's: the queue asks for one.
func (t *ticks) NewTicker(every time.Duration) clock.Ticker {
	t.every.Store(int64(every))
	t.run()
	return ticker{t}
}

type ticker struct{ *ticks }

// C is the ticker's channel.
func (t ticker) C() <-chan time.Time { return t.c }

// Stop ends the ticker.
func (t ticker) Stop() {
	t.every.Store(0)
	t.timer.Stop()
}

// tickless is a clock whose ticker never ticks: a delaying queue has a timer for the key that is due first, and would
// look every ten seconds all the same.
type tickless struct{ clock.RealClock }

// NewTicker is the clock's: the delaying queue asks for one.
func (tickless) NewTicker(time.Duration) clock.Ticker { return noTicker{} }

type noTicker struct{}

// C is the ticker's channel: none.
func (noTicker) C() <-chan time.Time { return nil }

// Stop ends the ticker.
func (noTicker) Stop() {}
