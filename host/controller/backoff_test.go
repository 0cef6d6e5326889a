package controller

import (
	"testing"
	"testing/synctest"
	"time"
)

// A key that fails waits for twice as long each time, as client-go has it.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, k := newBackoff(5*time.Millisecond, time.Minute), Key{Name: "a"}
		for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960, 60000,
			60000} {
			got := b.When(k)
			if got != want*time.Millisecond {
				t.Fatalf("after %d failures it waits for %v, want %v", b.NumRequeues(k), got, want*time.Millisecond)
			}
			time.Sleep(got) // virtual
		}
		b.Forget(k)
		if got := b.When(k); got != 5*time.Millisecond {
			t.Errorf("anew it waits for %v", got)
		}
	})
}

// What fails because events wake it counts for nothing: the key comes back when it would have without them.
func TestBackoffOfAKeyThatEventsWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, k := newBackoff(5*time.Millisecond, time.Hour), Key{Name: "a"}
		for _, wait := range []time.Duration{5, 10, 20, 40, 80} {
			wait *= time.Millisecond
			for events := time.Duration(0); events < 5; events++ {
				if got, want := b.When(k), wait-events*wait/5; got != want {
					t.Fatalf("after %d events it waits for %v, want %v", events, got, want)
				}
				time.Sleep(wait / 5) // virtual
			}
		}
		if n := b.NumRequeues(k); n != 5 {
			t.Errorf("%d failures count, want 5", n)
		}
	})
}
