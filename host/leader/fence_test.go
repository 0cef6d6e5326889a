package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// clocks are set by a test.
type clocks struct{ now reading }

func (c *clocks) read() reading { return c.now }

// advance has time pass by all clocks.
func (c *clocks) advance(d time.Duration) {
	c.now.awake += d
	c.now.boot += d
	c.now.wall += d
}

func TestFence(t *testing.T) {
	type step struct {
		what string
		do   func(*clocks)
		left time.Duration // 0: nothing is sent
	}

	for name, steps := range map[string][]step{
		"time passes": {
			{"at once", func(c *clocks) {}, 12 * time.Second},
			{"a retry later", func(c *clocks) { c.advance(2 * time.Second) }, 10 * time.Second},
			{"at the renew deadline", func(c *clocks) { c.advance(8 * time.Second) }, 2 * time.Second},
			{"after it", func(c *clocks) { c.advance(time.Nanosecond) }, 0},
			{"after the lease", func(c *clocks) { c.advance(time.Hour) }, 0},
		},
		"the process was stopped": { // all clocks went on
			{"woken", func(c *clocks) { c.advance(time.Minute) }, 0},
		},
		"the machine was suspended": {
			{"woken", func(c *clocks) { c.now.boot += time.Minute; c.now.wall += time.Minute }, 0},
		},
		"the machine was suspended, and its wall clock is set back": {
			{"woken", func(c *clocks) { c.now.boot += time.Minute }, 0},
		},
		"the machine was moved": { // neither of the others noticed
			{"woken", func(c *clocks) { c.now.wall += time.Minute }, 0},
		},
		"the wall clock is put forward a little": {
			{"counts as time", func(c *clocks) { c.now.wall += 3 * time.Second }, 9 * time.Second},
		},
		"the wall clock is put back": {
			{"no matter how little", func(c *clocks) { c.now.wall -= time.Millisecond }, 0},
			{"until it has come as far again", func(c *clocks) { c.advance(time.Second) }, 11 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clocks{reading0}
			f := newFence(15*time.Second, 10*time.Second, c.read)
			if _, err := f.timeLeft(); !errors.Is(err, ErrNotLeader) {
				t.Fatalf("before the Lease is held: %v", err)
			}
			f.noteRenewal(c.read())
			for _, s := range steps {
				s.do(c)
				left, err := f.timeLeft()
				if left != s.left || (err == nil) != (s.left > 0) {
					t.Errorf("%s: %v %v, want %v", s.what, left, err, s.left)
				}
			}
			f.noteRenewal(c.read())
			if left, err := f.timeLeft(); left != 12*time.Second || err != nil {
				t.Errorf("renewed: %v %v", left, err)
			}
			f.closeFence()
			if _, err := f.timeLeft(); !errors.Is(err, ErrNotLeader) {
				t.Errorf("lost: %v", err)
			}
		})
	}
}

// reading0 is where the tests' clocks begin: each somewhere else.
var reading0 = reading{awake: time.Hour, boot: 1000 * time.Hour, wall: 500_000 * time.Hour}

// A deadline that is near to the lease's end leaves writes no more time than the lease.
func TestFenceEndsBeforeTheLease(t *testing.T) {
	c := &clocks{reading0}
	f := newFence(10*time.Second, 9900*time.Millisecond, c.read)
	f.noteRenewal(c.read())
	c.advance(8 * time.Second)
	if left, err := f.timeLeft(); err == nil {
		t.Errorf("%v left two seconds before the lease can be taken", left)
	}
}

// A renewal counts from before it was sent: the server may have done it then, and its answer may have taken long. One
// that failed counts for nothing.
func TestRenewalsCountFromWhenTheyWereSent(t *testing.T) {
	c := &clocks{reading0}
	l := &Lease{fence: newFence(15*time.Second, 10*time.Second, c.read)}
	slow := func(failed error) func(context.Context, entry) error {
		return func(context.Context, entry) error {
			c.advance(3 * time.Second)
			return failed
		}
	}
	for _, what := range []string{"taken", "renewed"} {
		if err := l.writeEntry(t.Context(), entry{}, slow(nil)); err != nil {
			t.Fatal(err)
		}
		if left, err := l.fence.timeLeft(); left != 9*time.Second || err != nil {
			t.Errorf("%s by a request that took 3 s: %v %v, expected 9 s of 12", what, left, err)
		}
	}
	if err := l.writeEntry(t.Context(), entry{}, slow(errors.New("no answer"))); err == nil {
		t.Fatal("a failure is none")
	}
	if left, err := l.fence.timeLeft(); left != 6*time.Second || err != nil {
		t.Errorf("after a renewal that failed: %v %v, expected the 6 s that are left", left, err)
	}
}

// What can't be sent waits for the next renewal, and gives up when there is none.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clocks{reading0}
		f := newFence(15*time.Second, 10*time.Second, c.read)
		f.noteRenewal(c.read())
		c.advance(11 * time.Second)
		got := make(chan error, 1)
		wait := func(ctx context.Context) {
			_, err := f.awaitFresh(ctx)
			got <- err
		}

		pending := func(what string) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-got:
				t.Fatalf("%s: %v", what, err)
			default:
			}
		}

		go wait(t.Context())
		pending("stale")
		f.noteRenewal(c.read())
		if err := <-got; err != nil {
			t.Errorf("renewed: %v", err)
		}
		c.advance(time.Minute)
		go wait(t.Context())
		pending("stale again")
		f.closeFence()
		if err := <-got; !errors.Is(err, ErrNotLeader) {
			t.Errorf("lost: %v", err)
		}
		f.noteRenewal(c.read())
		c.advance(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		go wait(ctx)
		pending("stale for ever")
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("told to stop: %v", err)
		}
	})
}

// The system's clocks run.
func TestReadClocks(t *testing.T) {
	before := readClocks()
	for end := time.Now().Add(time.Minute); ; {
		now := readClocks()
		age, sound := now.elapsedSince(before)
		if !sound || time.Now().After(end) {
			t.Fatalf("%+v after %+v", now, before)
		}
		if age > 0 && now.awake > before.awake && now.boot >= before.boot {
			return
		}
	}
}

func TestShare(t *testing.T) {
	s := NewShare(time.Second)
	take := func(free, want time.Duration) {
		t.Helper()
		if wait, _ := s.takePlace(free); wait != want {
			t.Errorf("free for %v: wait %v, want %v", free, wait, want)
		}
	}
	take(0, 0)
	take(0, time.Second)
	take(600*time.Millisecond, 400*time.Millisecond)
	take(time.Second, 0)
	take(time.Second, time.Second)
	_, changed := s.takePlace(0)
	s.returnPlace()
	<-changed
	take(time.Second, 0)
}
