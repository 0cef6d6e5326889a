package endpoint

import (
	"time"

	"github.com/windlass-dev/windlass/sdk"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// Pace is how long a service rests once its endpoints were written. Upstream's controllers rest by accident: where
// their caches don't show their own write yet, a sync fails, and is tried again later. This is less than upstream's
// wait, and than what proxies wait before they act. The Endpoints of a service rest twice as long as its slices: they
// are one object, however large, and fewer look at them.
const (
	SlicesPace = 30 * time.Millisecond
	Pace       = 2 * SlicesPace
)

// waiting is how long the mark is that a sync waits: 'w' and the time since when, in nanoseconds, as sixteen
// hexadecimal digits.
const waiting = 17

// Batch makes many changes of pods one sync, as upstream's --endpoint-updates-batch-period does: it tells whether the
// sync is to wait until more may have come, in which case another has been asked for. What changes the service itself
// isn't kept waiting, nor is a first sync or one that has failed.
//
// The state is one of [TriggerTime], whatever follows in it; it is given without the mark, and whether it had one,
// because then it must be kept anew.
func Batch(c *sdk.Call, s *corev1.Service, period time.Duration) (state []byte, marked, wait bool) {
	state = c.State()
	since, now := int64(0), c.Now().UnixNano()
	if marked = len(state) > waiting && state[0] == 'w'; marked {
		for _, d := range state[1:waiting] {
			since = since<<4 | int64(max(0, hexDigit(d)))
		}
		state = state[waiting:]
	}
	if period <= 0 || len(state) < entry || c.Attempt() > 0 ||
		string(state[:entry/2]) != string(appendWord(nil, Hash(s.ResourceVersion))) {
		return state, marked, false
	}
	if !marked {
		mark := appendWord(appendWord([]byte{'w'}, uint32(now>>32)), uint32(now))
		c.SetState(append(mark, state...))
		since = now
	}
	if rest := time.Duration(since - now + int64(period)); rest > 0 {
		_ = c.After(rest)
		return state, marked, true
	}
	return state, marked, false
}
