package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// backoff holds a key that fails back for twice as long each time, as client-go's controllers do. But a failure that an
// event has led to before that time is over counts for nothing: the key comes back when it would have. Else a key that
// many events wake while the API server refuses its writes would wait for minutes after an outage of seconds, or be
// given up.
type backoff struct {
	workqueue.TypedRateLimiter[Key]

	mu    sync.Mutex
	until map[Key]time.Time // when a key comes back whose sync has failed
}

func newBackoff(base, most time.Duration) *backoff {
	return &backoff{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[Key](base, most),
		until: map[Key]time.Time{}}
}

// When is the queue's: how long the key waits, whose sync has failed.
func (b *backoff) When(k Key) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if left := b.until[k].Sub(now); left > 0 {
		return left
	}
	wait := b.TypedRateLimiter.When(k)
	b.until[k] = now.Add(wait)
	return wait
}

// Forget is the queue's: the key fails no more.
func (b *backoff) Forget(k Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.TypedRateLimiter.Forget(k)
	delete(b.until, k)
}
