package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

var _ flowcontrol.RateLimiter = (*Requests)(nil)

// In no time are there more requests than the burst and what the rate gives, and those that wait are served as fast as
// the rate allows.
func TestRequestsKeepTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRequests(10, 5)
		start := time.Now()
		for n := range 105 {
			if err := r.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			due := time.Duration(max(n-4, 0)) * 100 * time.Millisecond
			if took := time.Since(start); took < due-time.Microsecond || took > due+time.Millisecond {
				t.Fatalf("request %d was sent after %v, expected %v", n, took, due)
			}
		}
		if r.TryAccept() {
			t.Error("one more was sent at once")
		}
	})
}

// A request that waits by an old rate waits by the new one from when it is set; a change gives nothing away.
func TestRatesChangeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRequests(0.001, 1)
		r.Accept()
		start, done := time.Now(), make(chan time.Duration)
		for range 3 {
			go func() {
				r.Accept()
				done <- time.Since(start)
			}()
		}
		synctest.Wait()
		r.Set(10, 100)
		if r.TryAccept() {
			t.Error("the higher burst was there at once")
		}
		for n := range 3 {
			if took, most := <-done, time.Duration(n+1)*100*time.Millisecond; took > most+time.Millisecond ||
				took < most-time.Millisecond {
				t.Errorf("waited %v, expected %v", took, most)
			}
		}
		r.Set(0.001, 100)
		if r.TryAccept() {
			t.Error("a change gives a burst")
		}
	})
}

func TestRequestsThatGiveUpTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRequests(1, 1)
		r.Accept()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			if err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
			go func() { time.Sleep(time.Millisecond); cancel() }()
			if err := r.Wait(ctx); err == nil || ctx.Err() == nil {
				t.Errorf("waited to its end: %v", err)
			}
		}
		time.Sleep(time.Second)
		if !r.TryAccept() {
			t.Error("who has given up holds up others")
		}
	})
}
