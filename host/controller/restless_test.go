package controller

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/host/syncer"
)

// A key whose syncs write nothing and ask for the next one at once is slowed down, whether they fail or not, and told
// of, until it has come to rest.
func TestRestlessKeys(t *testing.T) {
	for name, failed := range map[string]bool{"nothing to do": false, "fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := startAsking(t, func(int) (time.Duration, int, bool) { return 1, 0, failed })
				if n := x.syncsWithin(time.Minute); n < 25 || n > 60 {
					t.Errorf("%d syncs in a minute", n)
				}
				all, _ := x.c.Stuck(func(string) bool { return true }, 10)
				if len(all) != 1 || all[0].State != Restless || all[0].Key != "k" || all[0].Controller != "c" ||
					all[0].Tries < restlessLimit || !strings.Contains(all[0].Error, "1ns") || time.Until(all[0].Next) > restlessMax {
					t.Errorf("told of are %+v", all)
				}

				// Something else wakes it as ever, and once is enough to be calm.
				x.ask = func(int) (time.Duration, int, bool) { return 0, 0, false }
				before := x.n.Load()
				x.c.Wake(x.key)
				if synctest.Wait(); x.n.Load() != before+1 {
					t.Errorf("%d syncs after a wake-up", x.n.Load()-before)
				}
				if n, longest := x.c.Restless(); n != 0 || longest != nil {
					t.Errorf("%d keys are restless: %+v", n, longest)
				}
			})
		})
	}
}

// A sync that wakes its own key asks for the next one: such a key is slowed down as well.
func TestKeysThatWakeThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := startAsking(t, func(int) (time.Duration, int, bool) { return 0, 0, false })
		synctest.Wait()
		x.ask = func(int) (time.Duration, int, bool) {
			x.c.WakeAsked(x.key, true)
			return 0, 0, false
		}
		x.c.Wake(x.key)
		if n := x.syncsWithin(time.Minute); n < 25 || n > 60 {
			t.Errorf("%d syncs in a minute", n)
		}
	})
}

// Keys that fail and are woken by their plugin's syncs, as if by one another, are held back all the same, and not for
// long: an event wakes them at once.
func TestFailingKeysThatWakeOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k, n := resyncing(t, 0), Key{Name: "k"}, atomic.Int32{}
		go func() {
			for k, ended := c.queue.Get(); !ended; k, ended = c.queue.Get() {
				n.Add(1)
				c.WakeAsked(k, false)
				c.requeueRateLimited(k)
				c.queue.Done(k)
			}
		}()
		c.Wake(k)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := n.Load(); n < 60 || n > 80 {
			t.Errorf("%d syncs in a minute", n)
		}

		before := n.Load()
		c.Wake(k)
		if synctest.Wait(); n.Load() != before+1 {
			t.Errorf("%d syncs after an event", n.Load()-before)
		}
		c.queue.ShutDown()
	})
}

// Who writes each time, asks for a later time, or is woken by others while it waits, gets the time that it asks for.
func TestHastyKeysThatAreNotRestless(t *testing.T) {
	for name, x := range map[string]struct {
		asks, every time.Duration // every: so often something else wakes the key
		writes      func(n int) int
		least       int // syncs in ten seconds
	}{
		"writes each time": {asks: 1, writes: func(int) int { return 1 }, least: 9_000},
		"writes now and then": {asks: 1, writes: func(n int) int { return max(0, n%restlessLimit-restlessLimit+2) },
			least: 9_000},
		"looks ten times a second": {asks: restlessWithin, writes: func(int) int { return 0 }, least: 99},
		"is woken by what it gathers": {asks: restlessWithin / 2, every: restlessWithin / 10,
			writes: func(int) int { return 0 }, least: 990},
		"waits for what was asked for": {asks: restlessWithin - 1, every: restlessWithin - 2,
			writes: func(int) int { return 0 }, least: 99},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := startAsking(t, func(n int) (time.Duration, int, bool) { return x.asks, x.writes(n), false })
				var others sync.WaitGroup
				if x.every > 0 {
					others.Go(func() {
						for !k.c.queue.ShuttingDown() {
							time.Sleep(x.every)
							k.c.Wake(k.key)
						}
					})
				}
				if n := k.syncsWithin(10 * time.Second); n < x.least {
					t.Errorf("%d syncs in ten seconds, expected %d", n, x.least)
				}
				if n, longest := k.c.Restless(); n != 0 {
					t.Errorf("it is restless: %+v", longest)
				}
				k.c.queue.ShutDown()
				others.Wait()
			})
		})
	}
}

// asks is a controller whose one key asks for its next sync.
type asks struct {
	c   *Controller
	key Key
	n   atomic.Int32                                               // syncs
	ask func(n int) (after time.Duration, writes int, failed bool) // by the n-th sync
}

func startAsking(t *testing.T, ask func(int) (time.Duration, int, bool)) *asks {
	x := &asks{c: resyncing(t, 0), key: Key{Name: "k"}, ask: ask}
	go func() {
		for k, ended := x.c.queue.Get(); !ended; k, ended = x.c.queue.Get() {
			d, writes, failed := x.ask(int(x.n.Add(1)))
			d = x.c.askedAgain(k, &syncer.Outcome{Accepted: true, Asked: d})
			x.c.setTimer(k, x.c.calmedDelay(x.c.Current(), k, d, writes), failed)
			x.c.queue.Done(k)
		}
	}()
	x.c.Wake(x.key)
	return x
}

// syncsWithin returns how many syncs there are in a time, which is virtual.
func (x *asks) syncsWithin(d time.Duration) int {
	synctest.Wait()
	from := x.n.Load()
	time.Sleep(d)
	synctest.Wait()
	return int(x.n.Load() - from)
}
