package sandbox

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Gate bounds how many guests run at once. A guest inside a perform has given its place up; one that runs on passes it
// on after each slice, where others wait.
type Gate struct {
	places  chan struct{}
	waiting atomic.Int32
}

// processGate is for modules that are given none.
var processGate = NewGate(0)

// NewGate makes a gate of n places; 0 means all processors but one, and at least one.
func NewGate(n int) *Gate {
	if n <= 0 {
		n = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Gate{places: make(chan struct{}, n)}
}

func (g *Gate) acquire(ctx context.Context) error {
	select {
	case g.places <- struct{}{}:
		return nil
	default:
	}
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	select { // those that wait get places in their order
	case g.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Gate) release() { <-g.places }

// hasWaiting reports whether somebody waits for a place.
func (g *Gate) hasWaiting() bool { return g.waiting.Load() > 0 }
