package leader

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrNotLeader is why a write isn't sent: the Lease isn't held any more.
var ErrNotLeader = errors.New("this process doesn't hold the lease any more")

// errStale is why a write isn't sent at this moment.
var errStale = errors.New("the lease was not renewed in time: this process may no longer hold it")

// fence tells until when writes may take effect.
type fence struct {
	fresh, lasts time.Duration // from a renewal on: for how long writes are sent, and by when they must be over
	read         func() reading

	mu      sync.RWMutex
	held    bool
	renewed reading // when the last renewal that succeeded was sent
	changed chan struct{}
}

// newFence is the fence of a Lease that others leave alone for duration.
func newFence(duration, deadline time.Duration, read func() reading) *fence {
	return &fence{fresh: deadline, lasts: duration - margin(duration), read: read, changed: make(chan struct{})}
}

// margin is how long before the Lease can be taken writes are over.
func margin(duration time.Duration) time.Duration { return duration / 5 }

// Late is how long what was sent in time may come to the server too late, and how long the server may take to end a
// request whose time is over: one half of the margin each.
func Late(duration time.Duration) time.Duration { return margin(duration) / 2 }

// noteRenewal takes note of a renewal that has succeeded.
func (f *fence) noteRenewal(sent reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.renewed = true, sent
	f.notifyChanged()
}

// closeFence has no further write sent.
func (f *fence) closeFence() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
	f.notifyChanged()
}

func (f *fence) notifyChanged() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// timeLeft returns how long a write that is sent now may take.
func (f *fence) timeLeft() (time.Duration, error) {
	f.mu.RLock()
	held, renewed := f.held, f.renewed
	f.mu.RUnlock()
	if !held {
		return 0, ErrNotLeader
	}
	age, sound := f.read().elapsedSince(renewed)
	if left := f.lasts - age; sound && age <= f.fresh && left > 0 {
		return left, nil
	}
	return 0, errStale
}

// awaitFresh returns timeLeft, once the last renewal is fresh; it gives up when the Lease is lost.
func (f *fence) awaitFresh(ctx context.Context) (time.Duration, error) {
	for {
		f.mu.RLock()
		changed := f.changed
		f.mu.RUnlock()
		left, err := f.timeLeft()
		if !errors.Is(err, errStale) {
			return left, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, errors.Join(err, context.Cause(ctx))
		}
	}
}
