package controller

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/syncer"
)

// A key that wrote rests for its controller's pace, longer where a write took long, however often it is woken
// meanwhile; one that didn't write or has failed doesn't rest, nor does a key that has rested already.
func TestPace(t *testing.T) {
	const pace = 100 * time.Millisecond
	k := Key{Namespace: "n", Name: "k"}
	for _, x := range []struct {
		name  string
		pace  time.Duration
		wrote []int           // how often, in the syncs before
		took  time.Duration   // each of them
		err   error           // how each of them ended
		wakes []time.Duration // after the end of the last of them
		want  time.Duration   // when the key is let through
	}{
		{"its first sync", pace, nil, 0, nil, []time.Duration{0}, 0},
		{"it didn't write", pace, []int{0}, 0, nil, []time.Duration{0}, 0},
		{"it wrote", pace, []int{1}, 0, nil, []time.Duration{0}, pace},
		{"it wrote, later than another", pace, []int{1, 1}, 0, nil, []time.Duration{0}, pace},
		{"it wrote, then had nothing to write", pace, []int{1, 0}, 0, nil, []time.Duration{0}, 0},
		{"it is woken on and on", pace, []int{1}, 0, nil, []time.Duration{10 * time.Millisecond, 30 * time.Millisecond,
			99 * time.Millisecond}, pace},
		{"it has rested", pace, []int{1}, 0, nil, []time.Duration{pace}, pace},
		{"it has rested for long", pace, []int{1}, 0, nil, []time.Duration{time.Minute}, time.Minute},
		{"it took a little while to write", pace, []int{1}, pace / 4, nil, []time.Duration{0}, pace},
		{"it took long to write", pace, []int{1}, pace, nil, []time.Duration{0}, 3 * pace},
		{"it took very long to write", pace, []int{1}, time.Minute, nil, []time.Duration{0}, 4 * pace},
		{"it took long to write much", pace, []int{250}, time.Second, nil, []time.Duration{0}, pace},
		{"it took long to write nothing", pace, []int{0}, time.Minute, nil, []time.Duration{0}, 0},
		{"it took long, but has no pace", 0, []int{1}, time.Minute, nil, []time.Duration{0}, 0},
		{"it wrote, but has no pace", 0, []int{1}, 0, nil, []time.Duration{0}, 0},
		{"it wrote, then failed", pace, []int{1}, 0, errors.New("failed"), []time.Duration{0}, 0},
		{"it took long to write, then failed", pace, []int{1}, time.Minute, errors.New("failed"), []time.Duration{0}, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &abi.Controller{Name: "c", Pace: int64(x.pace)}
				writer, err := effects.New(effects.Options{Controller: m, Config: &rest.Config{}})
				if err != nil {
					t.Fatal(err)
				}

				v := &Version{Target: syncer.Target{Manifest: m, Writer: writer}}
				writer.Lead()
				c := New(Options{}, v)
				defer c.queue.ShutDown()
				for i, wrote := range x.wrote {
					if i > 0 {
						time.Sleep(time.Second) // virtual, as all time here
					}
					c.countWrites(k, wrote, false, x.err, x.took)
				}

				start := time.Now()
				go func() {
					for _, at := range x.wakes {
						time.Sleep(time.Until(start.Add(at)))
						c.Wake(k)
					}
				}()
				for admitted := false; !admitted; {
					key, _ := c.queue.Get()
					d, _ := c.due(v, key)
					if admitted = d.why == ""; !admitted {
						c.hold(v, key, d)
					}
					c.queue.Done(key)
				}

				if took := time.Since(start); took != x.want {
					t.Errorf("the key is let through after %v, want %v", took, x.want)
				}
			})
		})
	}
}
