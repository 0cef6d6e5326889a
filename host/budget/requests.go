package budget

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Requests bounds how many requests are sent: so many at once, and a number a second in the long run. It is a
// flowcontrol.RateLimiter of client-go whose bounds can be changed while requests wait: they wait by the new ones at
// once.
type Requests struct {
	now func() time.Time

	mu      sync.Mutex
	qps     float64
	burst   float64
	tokens  float64 // that may be taken; less than none where requests wait
	waiting int     // requests that have taken one and wait for it
	last    time.Time
	changed chan struct{} // closed when the bounds are
}

// forever is more than anybody waits, and less than a Duration holds.
const forever = 100 * 365 * 24 * time.Hour

// NewRequests makes a bound of qps requests a second, which must be more than 0, and burst at once.
func NewRequests(qps float32, burst int) *Requests {
	r := &Requests{now: time.Now, qps: float64(qps), burst: float64(max(burst, 1)), changed: make(chan struct{})}
	r.tokens, r.last = r.burst, r.now()
	return r
}

// Set changes the bounds. A higher burst has to be saved up, as after any other use.
func (r *Requests) Set(qps float32, burst int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.qps == float64(qps) && r.burst == float64(max(burst, 1)) {
		return
	}
	r.refill()
	r.qps, r.burst = float64(qps), float64(max(burst, 1))
	r.tokens = min(r.tokens+float64(r.waiting), r.burst) // who waits asks again
	r.waiting = 0
	close(r.changed)
	r.changed = make(chan struct{})
}

// refill adds what has come since the last time. The caller holds the lock.
func (r *Requests) refill() {
	now := r.now()
	r.tokens = min(r.tokens+max(now.Sub(r.last), 0).Seconds()*r.qps, r.burst)
	r.last = now
}

// takeToken takes a request's token, and returns how long it has to wait for it.
func (r *Requests) takeToken() (wait time.Duration, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refill()
	r.tokens--
	if r.tokens < 0 {
		wait = time.Duration(min(-r.tokens/r.qps, forever.Seconds()) * float64(time.Second))
		r.waiting++
	}
	return wait, r.changed
}

// endWaiting ends a request's waiting: its token is used, or given back. False: the bounds were changed meanwhile, and
// it has none.
func (r *Requests) endWaiting(changed <-chan struct{}, use bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed != changed {
		return false
	}
	r.waiting--
	if !use {
		r.refill()
		r.tokens = min(r.tokens+1, r.burst)
	}
	return true
}

// Wait waits until a request may be sent. It fails at once where that is after the context's deadline.
func (r *Requests) Wait(ctx context.Context) error {
	for {
		wait, changed := r.takeToken()
		if wait == 0 {
			return nil
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			r.endWaiting(changed, false)
			return fmt.Errorf("the next request may be sent in %v, which is after the deadline: %w",
				wait.Round(time.Millisecond), context.DeadlineExceeded)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			if r.endWaiting(changed, true) {
				return nil
			}
		case <-changed:
		case <-ctx.Done():
			r.endWaiting(changed, false)
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// TryAccept reports whether a request may be sent now; then it counts.
func (r *Requests) TryAccept() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refill()
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

// Accept waits until a request may be sent.
func (r *Requests) Accept() { _ = r.Wait(context.Background()) }

// Stop is for client-go; there is nothing to end.
func (r *Requests) Stop() {}

// QPS is how many requests a second there may be in the long run.
func (r *Requests) QPS() float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float32(r.qps)
}
