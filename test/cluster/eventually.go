package cluster

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Eventually waits for a condition, looking every 20 ms; it says what was seen last when it gives up.
func Eventually(t testing.TB, within time.Duration, what string, condition func(ctx context.Context) (done bool, seen any)) {
	t.Helper()
	Poll(t, 20*time.Millisecond, within, what, condition)
}

// Poll is Eventually for conditions that cost more to look at.
func Poll(t testing.TB, every, within time.Duration, what string, condition func(ctx context.Context) (done bool, seen any)) {
	t.Helper()
	var seen any
	err := wait.PollUntilContextTimeout(t.Context(), every, within, true, func(ctx context.Context) (done bool, _ error) {
		done, seen = condition(ctx)
		return done, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %v; seen last: %v", what, within, seen)
	}
}
