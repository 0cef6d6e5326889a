package scenario

import (
	"context"
	"time"
)

// restFor is how long an idle manager is looked at.
func restFor(full bool) time.Duration {
	if full {
		return 30 * time.Second
	}
	return 6 * time.Second
}

// stayIdle does nothing for a while.
func stayIdle(ctx context.Context, w *World) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(restFor(w.Full)):
		return nil
	}
}

// awaitCalm lets what a start has left over pass: Windlass collects its garbage, and hands it back, some seconds after,
// once, which is no part of being idle, and memory isn't steady before.
func awaitCalm(ctx context.Context, w *World) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return nil
	}
}

var (
	startEmpty = &Scenario{Name: "start-empty", Base: empty, Start: true,
		Title: titleWithNumbers("start to first sync, empty cluster")}
	idleEmpty = &Scenario{Name: "idle-empty", Base: empty, Title: titleWithNumbers("idle, empty cluster"),
		Setup: awaitCalm, Act: stayIdle}
)
