package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/schema"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/host/views"
)

// The period is at least what is configured, less than twice that, and another one each time.
func TestResyncPeriod(t *testing.T) {
	drawn := map[time.Duration]bool{}
	for range 100 {
		p := resyncPeriod(12 * time.Hour)
		if p < 12*time.Hour || p >= 24*time.Hour {
			t.Fatalf("12h led to a period of %v", p)
		}
		drawn[p] = true
	}
	if len(drawn) < 50 {
		t.Errorf("100 draws led to %d periods", len(drawn))
	}
	if p := resyncPeriod(0); p != 0 {
		t.Errorf("0 led to a period of %v", p)
	}
	if p := resyncPeriod(1); p != time.Second {
		t.Errorf("1ns led to a period of %v", p)
	}
}

// Resyncs begin and end with the controller, in a period of their own each time.
func TestResyncIsOfATerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := resyncing(t, 0)
		c.Resync = time.Hour
		if p := c.ResyncPeriod(); p != 0 {
			t.Errorf("before it runs its period is %v", p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Run(ctx, time.Second)
		}()
		time.Sleep(24 * time.Hour) // virtual
		if p := c.ResyncPeriod(); p < time.Hour || p >= 2*time.Hour {
			t.Errorf("its period is %v", p)
		}
		cancel()
		<-ended
		if p := c.ResyncPeriod(); p != 0 {
			t.Errorf("after it has stopped its period is %v", p)
		}
	})
}

// In each period every key has one turn, spread over it, however often versions are exchanged; and none once the term
// has ended.
func TestResyncIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, windows, period = 2000, 8, 16 * time.Hour
		c := resyncing(t, keys)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var seen []time.Time
		turns := map[Key]int{}
		go func() {
			for k, ended := c.queue.Get(); !ended; k, ended = c.queue.Get() {
				mu.Lock()
				turns[k]++
				seen = append(seen, time.Now())
				mu.Unlock()
				c.queue.Done(k)
			}
		}()
		began := time.Now()
		go c.resync(ctx, period)

		for n := 1; n <= 2; n++ {
			time.Sleep(period / 2) // virtual
			synctest.Wait()
			c.Swap(versionOf(t), nil)
			time.Sleep(period / 2)
			synctest.Wait()
			mu.Lock()
			had := maps.Clone(turns)
			mu.Unlock()
			for k, got := range had {
				if got != n {
					t.Fatalf("after %d periods key %s has had %d turns", n, k, got)
				}
			}
			if len(had) != keys {
				t.Fatalf("after %d periods %d of %d keys have had a turn", n, len(had), keys)
			}
		}

		cancel()
		time.Sleep(2 * period)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if n := len(seen); n != 2*keys {
			t.Errorf("%d turns after the end", n-2*keys)
		}
		for i, gap := 1, time.Duration(0); i < len(seen); i++ {
			if gap = seen[i].Sub(seen[i-1]); gap < time.Second/resyncRate {
				t.Fatalf("two turns within %v", gap)
			}
		}
		for w := range 2 * windows {
			from := began.Add(period * time.Duration(w) / windows)
			n := len(slices.DeleteFunc(slices.Clone(seen), func(at time.Time) bool {
				return at.Before(from) || !at.Before(from.Add(period/windows))
			}))
			if n < keys/windows/2 || n > keys/windows*2 { // which they are is a hash's choice
				t.Errorf("window %d of %d has %d turns of %d", w, windows, n, keys)
			}
		}
	})
}

// However short the period is, only so many keys are woken in a second, and all of them are.
func TestResyncIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 100
		c := resyncing(t, keys)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.resync(ctx, time.Second)
		for second := 1; second <= keys/resyncRate; second++ {
			time.Sleep(time.Second) // virtual
			synctest.Wait()
			if n := c.Depth(); n > second*resyncRate {
				t.Fatalf("%d keys were woken in %d seconds", n, second)
			}
		}
		if n := c.Depth(); n != keys {
			t.Errorf("%d of %d keys were woken", n, keys)
		}
	})
}

// What a resync has woken has its turn after all that something has happened to; but some time it has it.
func TestResyncedKeysComeLast(t *testing.T) {
	c := resyncing(t, 0)
	next := func() string {
		k, _ := c.queue.Get()
		c.queue.Done(k)
		return k.Name
	}
	for _, name := range []string{"a", "b", "c"} {
		c.lookAgain(Key{Name: name}, time.Hour)
	}
	c.Wake(Key{Name: "d"})
	c.Wake(Key{Name: "b"})                    // something happens to it after all
	c.lookAgain(Key{Name: "d"}, time.Hour)    // which changes nothing
	want := []string{"d", "b", "a", "c", "-"} // the last one shows that there are no more
	for i, w := range want {
		if i == len(want)-1 {
			c.Wake(Key{Name: "-"})
		}
		if got := next(); got != w {
			t.Fatalf("turn %d is %s's, expected %s's", i, got, w)
		}
	}

	c.lookAgain(Key{Name: "late"}, time.Hour)
	for i := range 3 * passedMost {
		c.Wake(Key{Name: fmt.Sprint(i)})
	}
	for n := 0; next() != "late"; n++ {
		if n > passedMost {
			t.Fatalf("a key had no turn while %d others had", n)
		}
	}
}

// A resync leaves alone what comes by itself, and changes neither back-off nor timers; what was given up it takes up,
// though its object may be gone.
func TestResyncLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const within = time.Minute
		c := resyncing(t, 0)
		key := func(name string) Key { return Key{Name: name} }
		wrong := errors.New("no quota")

		c.limiter.When(key("backs off"))
		c.stuck.markHeld(key("fails"), Failing, "error", wrong, time.Hour)
		c.stuck.markHeld(key("waits for deletes"), Deferred, "deferred", wrong, time.Hour)
		c.stuck.markHeld(key("waits for a store"), Parked, "stale", wrong, 0)
		c.stuck.markHeld(key("given up"), GivenUp, "error", wrong, 0)
		c.setTimer(key("soon"), within, false)
		c.setTimer(key("later"), 2*within, false)
		c.holdEvents(key("syncing"))

		for _, name := range []string{"backs off", "fails", "waits for deletes", "soon", "syncing"} {
			if c.lookAgain(key(name), within); c.Depth() != 0 {
				t.Fatalf("a key was woken that %s", name)
			}
		}
		if n := c.queue.NumRequeues(key("backs off")); n != 1 {
			t.Errorf("it counts %d failures instead of 1", n)
		}
		for i, name := range []string{"later", "given up", "waits for a store", "at rest"} {
			if c.lookAgain(key(name), within); c.Depth() != i+1 {
				t.Fatalf("a key wasn't woken that is %s", name)
			}
		}
		if d, ok := c.untilTimer(key("later")); !ok || d != 2*within {
			t.Errorf("its timer is due in %v", d)
		}
		if all := c.keysWanted(func(Key) bool { return true }); !slices.Equal(all, []Key{key("given up")}) {
			t.Errorf("keys to look at are %v", all)
		}
	})
}

// resyncing is a controller of so many keys, which doesn't run.
func resyncing(t *testing.T, keys int) *Controller {
	t.Helper()
	s, err := schema.For(configMaps)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for i := range keys {
		name := fmt.Sprint("map-", i)
		all[name] = &cache.Object{Resource: s, Namespace: "default", Name: name, UID: "u"}
	}
	c := New(Options{World: world{configMaps: all}}, versionOf(t))
	t.Cleanup(c.queue.ShutDown)
	return c
}

// versionOf is a version whose keys are ConfigMaps.
func versionOf(t *testing.T) *Version {
	t.Helper()
	m := &abi.Controller{Name: "c", Views: []abi.View{{Name: "maps", Resource: configMaps}}}
	plan, err := views.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	return &Version{Target: syncer.Target{Manifest: m, Plan: plan, Writer: writer}, Metrics: unmeasured{}}
}
