package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// A plugin that isn't built in is set aside when it is to blame: for what its manifest doesn't have over a few keys,
// for traps only if nearly all keys of several namespaces fail. One that is built in never is.
func TestWhatIsQuarantined(t *testing.T) {
	trap, wants, panicked := errors.New("it trapped"), undeclared(t), &syncer.PanicError{Plugin: "p", Controller: "c"}
	for _, x := range []struct {
		name        string
		keys, spare int // that fail, and that are there and don't
		places      int // namespaces of the failing ones; 0: they have none
		failed      error
		good        int // after so many failures comes a good sync; 0: never
		single      bool
		want, probe bool
	}{
		{name: "all keys trap", keys: 30, places: 3, failed: trap, want: true, probe: true},
		{name: "nearly all", keys: 27, spare: 3, places: 3, failed: trap, want: true, probe: true},
		{name: "fewer", keys: 26, spare: 4, places: 3, failed: trap},
		{name: "few", keys: 3, spare: 1, places: 3, failed: trap},
		{name: "without namespaces", keys: 3, failed: trap, want: true, probe: true},
		{name: "without namespaces, few", keys: 3, spare: 1, failed: trap},
		{name: "all of one namespace", keys: 50, places: 1, failed: trap},
		{name: "all of two", keys: 50, places: 2, failed: trap},
		{name: "very many", keys: 3 * failingEnough, spare: 4000, places: 3, failed: trap, want: true, probe: true},
		{name: "very many, but not in each place", keys: 2 * failingEnough, spare: 2002, places: 3, failed: trap},
		{name: "the only key that there is", keys: 1, single: true, failed: trap, want: true, probe: true},
		{name: "the only key, now and then", keys: 1, single: true, failed: trap, good: failuresMost - 1},
		{name: "now and then", keys: 30, places: 3, failed: trap, good: failuresMost - 1},
		{name: "a good one ends it", keys: 30, places: 3, failed: trap, good: failuresMost + 1},
		{name: "not in the manifest", keys: 3, spare: 9, places: 1, failed: wants, want: true},
		{name: "not in the manifest, few keys", keys: 2, spare: 9, places: 1, failed: wants},
		{name: "not in the manifest, now and then", keys: 3, places: 1, failed: wants, good: failuresMost - 1},
		{name: "not in the manifest, which a good one doesn't end", keys: 3, places: 1, failed: wants,
			good: failuresMost + 1, want: true},
		{name: "not in the manifest, the only key", keys: 1, single: true, failed: wants, want: true},
		{name: "a panic", keys: 1, spare: 9, failed: panicked, want: true},
	} {
		for _, builtIn := range []bool{false, true} {
			var keys []Key
			for i := range x.keys + x.spare {
				k := Key{Name: fmt.Sprint("k", i)}
				if x.places > 0 {
					k.Namespace = fmt.Sprint("n", i%x.places)
				}
				keys = append(keys, k)
			}
			v := nativeVersion(t, nil)
			v.BuiltIn = builtIn
			manifest := *v.Manifest
			manifest.Key.Single = x.single
			v.Manifest = &manifest
			c := New(Options{World: configMapWorld(t, keys...)}, v)
			defer c.queue.ShutDown()

			result := syncer.Trap
			if errors.As(x.failed, new(*syncer.PanicError)) {
				result = syncer.Panic
			}
			for i := range max(3*failuresMost, x.keys+failuresMost) {
				if x.good > 0 && i%x.good == 0 {
					c.countFailure(v, keys[0], syncer.OK, nil, 0)
				}
				c.countFailure(v, keys[i%x.keys], result, x.failed, 0)
			}

			probe, why := c.Quarantined()
			switch {
			case (why != nil) != (x.want && !builtIn) || why != nil && !errors.Is(why, x.failed):
				t.Errorf("%s, built in %v: quarantined for %v, expected %v", x.name, builtIn, why, x.want)
			case !builtIn && probe.IsZero() == x.probe:
				t.Errorf("%s: probed at %v, expected %v", x.name, probe, x.probe)
			}
		}
	}
}

// undeclared is the error of an answer that wants what the manifest doesn't have.
func undeclared(t *testing.T) error {
	t.Helper()
	err := nativeVersion(t, nil).Writer.Begin(Key{Name: "k"}, nil).Check([]abi.Effect{{Kind: abi.EffectDelete,
		Resource: "v1/configmaps", Namespace: "n", Name: "k", UID: "u"}})
	if !effects.NotDeclared(err) {
		t.Fatalf("it is refused for %v", err)
	}
	return err
}

// However many keys of one namespace fail, with one in each of a few others, the others' keys go on.
func TestOneNamespaceQuarantinesNothing(t *testing.T) {
	trap := errors.New("it trapped")
	var keys, bad []Key
	for i := range failingEnough {
		bad = append(bad, Key{Namespace: "one", Name: fmt.Sprint("bad-", i)})
	}
	for _, namespace := range []string{"two", "three"} {
		bad = append(bad, Key{Namespace: namespace, Name: "bad"})
		for i := range failingEnough {
			keys = append(keys, Key{Namespace: namespace, Name: fmt.Sprint("good-", i)})
		}
	}
	v := nativeVersion(t, nil)
	v.BuiltIn = false
	c := New(Options{World: configMapWorld(t, append(keys, bad...)...)}, v)
	defer c.queue.ShutDown()

	for range 3 {
		for _, k := range bad {
			c.countFailure(v, k, syncer.Trap, trap, 0)
		}
	}
	if _, why := c.Quarantined(); why != nil {
		t.Errorf("it is quarantined: %v", why)
	}
}

// What is remembered of failing keys has a bound.
func TestFailuresAreBounded(t *testing.T) {
	v := nativeVersion(t, nil)
	v.BuiltIn = true
	c := New(Options{World: configMapWorld(t)}, v)
	defer c.queue.ShutDown()
	for i := range failingMost + 100 {
		c.countFailure(v, Key{Name: fmt.Sprint(i)}, syncer.Trap, errors.New("it trapped"), 0)
	}
	if n := c.Aside(); n != failingMost {
		t.Errorf("%d keys", n)
	}
	if wait := c.setAside(Key{Name: fmt.Sprint(failingMost + 1)}); wait != asideMost {
		t.Errorf("one that isn't remembered waits for %v", wait)
	}
	for i := range failingMost {
		c.countFailure(v, Key{Name: fmt.Sprint(i)}, syncer.OK, nil, 0)
	}
	if n := c.Aside(); n != 0 {
		t.Errorf("%d keys, and all went well", n)
	}
}

// running starts a controller on a version whose keys are config maps of namespace n, in a bubble of synctest.
func running(t *testing.T, builtIn bool, do func(*sdk.Call) error, keys ...Key) *Controller {
	t.Helper()
	v := nativeVersion(t, do)
	v.BuiltIn = builtIn
	c := New(Options{World: configMapWorld(t, keys...)}, v)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx, 0)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return c
}

// A key of a built-in controller that fails, or over which Windlass panics, is set aside: with one worker, and though a
// sync of it takes long, others have their turns, and what changes is tried soon.
func TestKeysAreSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 10 * time.Second
		tries := map[string][]time.Time{}
		var mended atomic.Bool
		do := func(c *sdk.Call) error {
			name := c.Name()
			tries[name] = append(tries[name], time.Now()) // there is one worker
			if strings.HasPrefix(name, "bad") && !mended.Load() {
				if strings.HasSuffix(name, "slow") {
					time.Sleep(took)
				}
				panic("what it contains")
			}
			return nil
		}
		good, bad, slow := Key{Namespace: "n", Name: "good"}, Key{Namespace: "n", Name: "bad"},
			Key{Namespace: "n", Name: "bad-slow"}
		c := running(t, true, do, good, bad, slow)

		begun := time.Now()
		c.Wake(bad)
		time.Sleep(time.Hour)
		synctest.Wait()
		var waits []time.Duration
		for i, at := range tries["bad"][1:] {
			waits = append(waits, at.Sub(tries["bad"][i]).Round(time.Second))
		}
		want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(waits[:min(len(waits), len(want))], want) || tries["bad"][0].Sub(begun) > time.Second {
			t.Errorf("tried again after %v, expected %v", waits, want)
		}
		stuck, _ := c.Stuck(func(string) bool { return true }, 10)
		if len(stuck) != 1 || stuck[0].State != SetAside || !strings.Contains(stuck[0].Error, "what it contains") ||
			stuck[0].Result != syncer.Trap || stuck[0].Next.IsZero() || c.Aside() != 1 {
			t.Errorf("stuck are %+v, %d set aside", stuck, c.Aside())
		}
		if err := c.Degraded(); err != nil {
			t.Errorf("one key of three fails: degraded for %v", err)
		}

		t.Log("something happens to one whose syncs take long, every second")
		from := time.Now()
		for time.Since(from) < time.Hour {
			c.Wake(slow)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := len(tries["bad-slow"]); n < 10 || n > int(time.Hour/(asideRests/2*took))+1 {
			t.Errorf("it was tried %d times", n)
		}

		t.Log("another key")
		time.Sleep(2 * took) // the one that takes long rests now
		from = time.Now()
		c.Wake(good)
		synctest.Wait()
		if at := tries["good"]; len(at) != 1 || at[0].Sub(from) > 0 {
			t.Errorf("it was synced at %v, expected %v", at, from)
		}

		t.Log("all is well again")
		mended.Store(true)
		c.Wake(bad)
		synctest.Wait()
		if n := c.Aside(); n != 1 {
			t.Errorf("%d keys are set aside, expected the one that nothing has happened to", n)
		}
		time.Sleep(asideMost)
		if _, all := c.Stuck(func(string) bool { return true }, 1); all != 0 || c.Aside() != 0 {
			t.Errorf("%d keys are stuck", all)
		}
	})
}

// However many keys are set aside, and however long their syncs take, those have but a share of a worker.
func TestSetAsideKeysShareTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took, many = 10 * time.Second, 200
		var n atomic.Int32
		var keys []Key
		for i := range many {
			keys = append(keys, Key{Namespace: "n", Name: fmt.Sprint("k", i)})
		}
		c := running(t, true, func(*sdk.Call) error {
			n.Add(1)
			time.Sleep(took)
			panic("what it contains")
		}, keys...)
		for _, k := range keys {
			c.Wake(k)
		}
		time.Sleep(many * took) // the first time
		synctest.Wait()
		n.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if most := int(time.Hour/(asideShare*took)) + 1; int(n.Load()) > most || int(n.Load()) < most/2 {
			t.Errorf("%d syncs of %v in an hour, expected at most %d", n.Load(), took, most)
		}
		if err := c.Degraded(); err == nil || !strings.Contains(err.Error(), "what it contains") {
			t.Errorf("all of its keys fail: degraded for %v", err)
		}
		if _, why := c.Quarantined(); why != nil {
			t.Errorf("quarantined for %v", why)
		}

		t.Log("a release has all tried at once")
		n.Store(0)
		if !c.Release() || c.Release() {
			t.Error("released nothing, or twice")
		}
		time.Sleep(many * took)
		synctest.Wait()
		if n.Load() < many-1 { // one may have been tried just then
			t.Errorf("%d keys of %d", n.Load(), many)
		}
	})
}

// A controller that was quarantined for its traps is probed with one key at a time, and goes on when one does well.
func TestQuarantinesAreProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		var tries atomic.Int32
		var keys []Key
		for i := range 12 {
			keys = append(keys, Key{Namespace: fmt.Sprint("n", i%3), Name: fmt.Sprint("k", i)})
		}
		c := running(t, false, func(*sdk.Call) error {
			tries.Add(1)
			if !mended.Load() {
				panic("what it contains")
			}
			return nil
		}, keys...)
		c.SetWorkers(3)
		for _, k := range keys {
			c.Wake(k)
		}
		time.Sleep(probeFirst - time.Second)
		probe, why := c.Quarantined()
		if why == nil || !probe.After(time.Now()) || probe.After(time.Now().Add(probeFirst)) {
			t.Fatalf("quarantined for %v, the next probe at %v, after %d syncs", why, probe, tries.Load())
		}

		n := tries.Load()
		time.Sleep(time.Hour)
		// after 10, 20, 40, ... s, and then every 10 min
		if probes := tries.Load() - n; probes < 8 || probes > 12 {
			t.Errorf("%d probes in an hour", probes)
		}
		mended.Store(true)
		time.Sleep(probeMost)
		synctest.Wait()
		if _, why := c.Quarantined(); why != nil {
			t.Errorf("still quarantined for %v", why)
		}
		time.Sleep(time.Hour) // for their back-offs
		if _, all := c.Stuck(func(string) bool { return true }, 1); all != 0 {
			t.Errorf("%d keys are stuck", all)
		}
	})
}

// After a panic, or if it wants what its manifest doesn't have, a controller waits for somebody to release it.
func TestQuarantinesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		var keys []Key
		for i := range 4 {
			keys = append(keys, Key{Namespace: "n", Name: fmt.Sprint("k", i)})
		}
		c := running(t, false, func(call *sdk.Call) error {
			tries.Add(1)
			if err := call.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "n"}}); err != nil {
				return err
			}
			return nil
		}, keys...)
		for _, k := range keys {
			c.Wake(k)
		}
		time.Sleep(time.Minute)
		n := tries.Load()
		if probe, why := c.Quarantined(); !effects.NotDeclared(why) || !probe.IsZero() || n < failuresMost {
			t.Fatalf("quarantined for %v after %d syncs, a probe at %v", why, n, probe)
		}
		time.Sleep(24 * time.Hour)
		if more := tries.Load() - n; more > 0 {
			t.Errorf("%d syncs though nobody has released it", more)
		}
		if !c.Release() {
			t.Error("nothing to release")
		}
		synctest.Wait()
		if tries.Load() == n {
			t.Error("no sync though it was released")
		}
	})
}
