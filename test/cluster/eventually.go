package cluster

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience is how long is waited for a condition at least, whatever a test thinks that it takes: a verdict doesn't hang on how busy
// the machine is. That something is done within a time is no condition: that is measured, and compared with something measured, too.
const Patience = 3 * time.Minute

// Eventually waits for a condition, looking every 20 ms. It fails the test after the given time, or Patience where that is
// longer, and says what was seen last.
func Eventually[Seen any](
	t testing.TB, within time.Duration, what string, condition func() (done bool, seen Seen),
) {
	t.Helper()
	Poll(t, 20*time.Millisecond, within, what, condition)
}

// Poll is Eventually for conditions that cost more to look at.
func Poll[Seen any](
	t testing.TB, every, within time.Duration, what string, condition func() (done bool, seen Seen),
) {
	t.Helper()
	within = max(within, Patience)

	var seen Seen
	err := wait.PollUntilContextTimeout(t.Context(), every, within, true, func(context.Context) (done bool, _ error) {
		done, seen = condition()
		return done, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %v; seen last: %v", what, within, seen)
	}
}
