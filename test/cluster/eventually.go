package cluster

import (
	"context"
	"testing"
	"time"
)

// Patience is how long is waited for a condition at least, whatever a test thinks that it takes: a verdict doesn't hang
// on how busy the machine is. That something is done within a time is no condition: that is measured, and compared with
// something measured, too.
const Patience = 3 * time.Minute

// Eventually waits for a condition, looking every 20 ms at first. It fails the test after the given time, or Patience
// where that is longer, and says what was seen last.
func Eventually[Seen any](
	t testing.TB, within time.Duration, what string, condition func() (done bool, seen Seen),
) {
	t.Helper()
	Poll(t, 20*time.Millisecond, within, what, condition)
}

// Poll is Eventually for conditions that cost more to look at. Whoever has waited for long looks less often, so that
// what is waited for isn't held up: each time a twentieth of the time so far has gone by, but at most seldom.
func Poll[Seen any](
	t testing.TB, every, within time.Duration, what string, condition func() (done bool, seen Seen),
) {
	t.Helper()
	within = max(within, Patience)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()

	for begun := time.Now(); ; {
		done, seen := condition()
		if done {
			return
		}

		pause := max(every, min(time.Since(begun)/20, seldom))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			t.Fatalf("%s: not within %v; seen last: %v", what, within, seen)
		}
	}
}

// seldom is the longest pause of [Poll], where it isn't asked for a longer one.
const seldom = 250 * time.Millisecond
