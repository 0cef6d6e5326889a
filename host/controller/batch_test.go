package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
)

// A key whose wake-ups are delayed is synced when the first one's delay is over, or at the first pause after that, or
// when it has waited a quarter longer; and at once when something wakes it without delay.
func TestBatch(t *testing.T) {
	const delay = time.Second
	k := Key{Namespace: "n", Name: "k"}
	every := func(period, until time.Duration) (all []time.Duration) {
		for at := time.Duration(0); at <= until; at += period {
			all = append(all, at)
		}
		return all
	}

	for _, x := range []struct {
		name  string
		waked []time.Duration // with the delay
		now   []time.Duration // without
		want  []time.Duration // when the key is let through
	}{
		{"one wake-up", every(delay, 0), nil, []time.Duration{delay}},
		{"they end before the delay is over", every(7*time.Millisecond, 896*time.Millisecond), nil, []time.Duration{delay}},
		{"they end shortly before the delay is over", every(7*time.Millisecond, 952*time.Millisecond), nil,
			[]time.Duration{1052 * time.Millisecond}},
		{"they go on for a moment", every(7*time.Millisecond, 1120*time.Millisecond), nil,
			[]time.Duration{1220 * time.Millisecond}},
		{"they go on and on", every(7*time.Millisecond, 3500*time.Millisecond), nil,
			[]time.Duration{1250 * time.Millisecond, 2503 * time.Millisecond, 3600 * time.Millisecond}},
		{"they are far from each other", every(150*time.Millisecond, 1350*time.Millisecond), nil,
			[]time.Duration{delay, 2050 * time.Millisecond}},
		{"something else wakes it before", every(7*time.Millisecond, 1120*time.Millisecond),
			[]time.Duration{500 * time.Millisecond}, []time.Duration{500 * time.Millisecond, 1220 * time.Millisecond}},
		{"something else wakes it while it waits on; the queue forgets nothing",
			every(7*time.Millisecond, 1120*time.Millisecond), []time.Duration{1055 * time.Millisecond},
			[]time.Duration{1055 * time.Millisecond, 1094 * time.Millisecond, 2057 * time.Millisecond}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &abi.Controller{Name: "c"}
				writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{}})
				if err != nil {
					t.Fatal(err)
				}
				writer.Lead()
				v := &Version{Target: syncer.Target{Manifest: m, Writer: writer}}
				c := New(Options{}, v)
				start := time.Now()
				wake := func(all []time.Duration, delay time.Duration) {
					for _, at := range all {
						time.Sleep(time.Until(start.Add(at)))
						c.Woken(k, delay, cache.Event{})
					}
				}
				go wake(x.waked, delay)
				go wake(x.now, 0)
				time.AfterFunc(5*time.Second, c.queue.ShutDown)
				var got []time.Duration
				for {
					key, ended := c.queue.Get()
					if ended {
						break
					}
					if d, _ := c.due(v, key); d.why != "" {
						c.hold(v, key, d)
					} else {
						got = append(got, time.Since(start))
					}
					c.queue.Done(key)
				}
				if !slices.Equal(got, x.want) {
					t.Errorf("the key is let through after %v, want %v", got, x.want)
				}
				if len(c.keys.of) > 0 {
					t.Errorf("what was noted of it stays: %v", c.keys.of)
				}
			})
		})
	}
}
