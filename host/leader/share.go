package leader

import (
	"sync"
	"time"
)

// Share spreads several Leases over processes: one that holds some leaves those who hold fewer the time to take another
// one first. Nothing is taken from who holds it.
type Share struct {
	step time.Duration

	mu      sync.Mutex
	held    int
	changed chan struct{}
}

// NewShare makes what the Leases of one process share; for each one that it holds it waits a step longer.
func NewShare(step time.Duration) *Share { return &Share{step: step, changed: make(chan struct{})} }

// takePlace returns how much longer to leave a Lease alone that has been free for so long, and what ends the waiting
// before; 0: it may be taken, and counts as held until give.
func (s *Share) takePlace(free time.Duration) (wait time.Duration, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait = time.Duration(s.held)*s.step - free; wait > 0 {
		return wait, s.changed
	}
	s.held++
	return 0, nil
}

func (s *Share) returnPlace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
	close(s.changed)
	s.changed = make(chan struct{})
}
