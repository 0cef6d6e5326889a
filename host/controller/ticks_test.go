package controller

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// A queue counts anew while a key is being synced, and once when none is any more; otherwise it isn't told to.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		order := workqueue.DefaultQueue[Key]()
		x := newTicks(order, busy.Load)
		ticker := x.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		var told, idle int // ticks, those of them while nothing is synced
		go func() {
			for range ticker.C() {
				told++
				if !busy.Load() {
					idle++
				}
			}
		}()
		after := func(d time.Duration, wantTold, wantIdle int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if told != wantTold || idle != wantIdle {
				t.Errorf("%d ticks, %d of them idle; want %d, %d", told, idle, wantTold, wantIdle)
			}
			told, idle = 0, 0
		}
		sync := func() {
			order.Push(Key{Name: "a"})
			x.Pop()
		}

		after(600*time.Millisecond, 1, 1) // once at first
		after(time.Hour, 0, 0)
		sync() // a short one
		after(time.Hour, 2, 2)
		sync()
		busy.Store(true)
		after(10200*time.Millisecond, 20, 0)
		busy.Store(false)
		after(time.Hour, 1, 1)
		close(x.c)
	})
}
