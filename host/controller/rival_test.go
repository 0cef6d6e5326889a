package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// A failed sync counts against a version on trial only if the version before does better with the same key; and that
// does nothing when it is asked.
func TestTrialsCompare(t *testing.T) {
	type step = func(c *sdk.Call) error
	all := func(steps ...step) step {
		return func(c *sdk.Call) error {
			for _, s := range steps {
				if err := s(c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	publish := func(text string) step { return func(c *sdk.Call) error { return c.Publish([]byte(text), "term") } }
	ask := func(c *sdk.Call) error { _, err := c.Facts("n", "term"); return err }
	says := func(*sdk.Call) error { return errors.New("it says so itself") }
	panics := func(*sdk.Call) error { panic("what it contains") }
	creates := func(c *sdk.Call) error {
		return c.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "made"}})
	}
	performs := func(c *sdk.Call) error {
		return c.Do(sdk.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "made"}}))
	}

	for name, x := range map[string]struct {
		live, before step
		counts       bool
	}{
		"the one before does it":                        {panics, all(), true},
		"it fails, too":                                 {panics, panics, false},
		"it fails otherwise":                            {panics, creates, false},
		"it says that it can't":                         {panics, says, true},
		"it fails after the same":                       {all(publish("a"), panics), all(publish("a"), panics), false},
		"it is told the same, and goes on":              {all(ask, panics), all(ask, ask, panics), true},
		"it comes further":                              {panics, all(publish("a"), panics), true},
		"it performs otherwise":                         {all(publish("a"), panics), all(publish("b"), panics), true},
		"it comes to what it may not do":                {panics, performs, false},
		"both want what they may not do":                {creates, creates, false},
		"both perform what they may not do":             {performs, performs, false},
		"the new one alone wants what it may not do":    {creates, all(), true},
		"the new one alone performs what it may not do": {performs, all(), true},
	} {
		t.Run(name, func(t *testing.T) {
			k := Key{Namespace: "n", Name: "k"}
			old, next := nativeVersion(t, x.before), nativeVersion(t, x.live)
			c := New(Options{World: configMapWorld(t, k)}, old)
			defer c.queue.ShutDown()
			told, counted := 0, 0
			c.Swap(next, &Trial{Before: old, Synced: func(failed error) bool {
				told++
				if failed != nil {
					counted++
				}
				return true
			}})

			c.Wake(k)
			newWorker(c).syncNext(t.Context())
			if counted != told || (counted == 1) != x.counts {
				t.Errorf("it counts %d times, told %d times, expected %v", counted, told, x.counts)
			}
			if err := old.Drain(t.Context()); err != nil {
				t.Errorf("the version before is in use after the sync: %v", err)
			}
			facts, err := old.Writer.Begin(k, nil).Perform(t.Context(), []abi.Effect{{Kind: abi.EffectFacts, Namespace: "n",
				Terms: []string{"term"}}})
			if err != nil || len(facts) != 1 || len(facts[0].Facts) > 0 {
				t.Errorf("the version before has published %+v %v", facts, err)
			}
		})
	}
}

// A sync that goes well is told of, and so is each that fails where there was no such controller before. When the trial
// is over the version before is asked no more.
func TestTrialsWithoutComparison(t *testing.T) {
	k := Key{Namespace: "n", Name: "k"}
	asked := 0
	old := nativeVersion(t, func(*sdk.Call) error { asked++; return nil })
	good := nativeVersion(t, func(*sdk.Call) error { return nil })
	bad := nativeVersion(t, func(*sdk.Call) error { panic("what it contains") })
	c := New(Options{World: configMapWorld(t, k)}, old)
	defer c.queue.ShutDown()
	var told []error
	trial := func(before *Version) *Trial {
		return &Trial{Before: before, Synced: func(failed error) bool { told = append(told, failed); return true }}
	}
	sync := func() {
		c.Wake(k)
		newWorker(c).syncNext(t.Context())
	}

	c.Swap(good, trial(old))
	sync()
	c.Swap(bad, trial(nil))
	sync()
	if len(told) != 2 || told[0] != nil || told[1] == nil || asked != 0 {
		t.Errorf("told %v, the version before was asked %d times", told, asked)
	}

	told = nil
	c.Swap(bad, trial(old))
	c.EndTrial()
	sync()
	if len(told) != 0 || asked != 0 {
		t.Errorf("after the end of the trial: told %v, the version before was asked %d times", told, asked)
	}
}

// The version before is given the state that it would have.
func TestTrialsKeepStates(t *testing.T) {
	k := Key{Namespace: "n", Name: "k"}
	for _, x := range []struct {
		state int32 // of the new version
		want  string
	}{{0, "kept"}, {1, ""}} {
		got := "not asked"
		version := func(number int32, do func(c *sdk.Call) error) *Version {
			v := nativeVersion(t, do)
			manifest := *v.Manifest
			manifest.State = true
			v.Manifest, v.State = &manifest, number
			return v
		}

		old := version(0, func(c *sdk.Call) error {
			got = string(c.State())
			c.SetState([]byte("kept"))
			return nil
		})
		c := New(Options{World: configMapWorld(t, k)}, old)
		defer c.queue.ShutDown()
		w := newWorker(c)
		c.Wake(k)
		w.syncNext(context.Background())

		next := version(x.state, func(*sdk.Call) error { panic("what it contains") })
		c.Swap(next, &Trial{Before: old, Synced: func(error) bool { return true }})
		c.Wake(k)
		w.syncNext(context.Background())
		if got != x.want {
			t.Errorf("state %d: the version before is given %q, expected %q", x.state, got, x.want)
		}
	}
}
