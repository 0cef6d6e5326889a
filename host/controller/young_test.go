package controller

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/views"
)

var things = abi.Resource{Group: "example.com", Version: "v1", Name: "things"}

// away has the things be lost, or not.
type away struct{ lost atomic.Bool }

func (*away) Current(r abi.Resource) (abi.Resource, bool)                  { return r, true }
func (a *away) Lost(r abi.Resource) bool                                   { return r == things && a.lost.Load() }
func (*away) Lacking() (u []abi.Resource, y abi.Resource, _ time.Duration) { return nil, y, 0 }

// A key that waits for a resource is woken when that is there again, not whenever something is; and when its view goes
// on without, by itself.
func TestKeysWaitForTheirResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, a := versionOf(t), &away{}
		v.Plan.SetCurrency(a)
		c := New(Options{}, v)
		defer c.queue.ShutDown()
		queued := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			if n := c.queue.Len(); n != want {
				t.Errorf("%s: %d keys are queued, want %d", what, n, want)
			}
			for range c.queue.Len() {
				k, _ := c.queue.Get()
				c.queue.Done(k)
			}
		}

		a.lost.Store(true)
		c.parkUntilCurrent(v, Key{Name: "a"}, &views.Young{Resource: things})
		queued("one that waits for what isn't served", 0)
		c.Freed()
		queued("something else has become current", 0)
		a.lost.Store(false)
		c.Freed()
		queued("it is served again", 1)
		c.Freed()
		queued("and again", 0)

		a.lost.Store(true)
		c.parkUntilCurrent(v, Key{Name: "b"}, &views.Young{Resource: things, Wait: time.Minute})
		time.Sleep(time.Minute - time.Second)
		queued("one whose view waits for a minute", 0)
		time.Sleep(time.Second)
		queued("after the minute", 1)
	})
}
