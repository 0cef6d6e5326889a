package effects

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/abi"
)

// Session is what one sync of one key does.
type Session struct {
	w        *Writer
	key      abi.KeyRef
	snapshot Snapshot
	writes   atomic.Int64 // sent
	checked  *abi.Effect  // the first effect of the answer that Check has passed
	wakes    int          // of siblings, so far

	deferred atomic.Int64 // nanoseconds

	mu        sync.Mutex
	allowance int // deletes that may still be sent
	bases     map[objectKey]*base
	plans     map[*abi.Effect]*plan // updates that were compared before anything was written
}

// Begin starts the effects of one sync of a key.
func (w *Writer) Begin(key abi.KeyRef, s Snapshot) *Session {
	return &Session{w: w, key: key, snapshot: s, bases: map[objectKey]*base{}, plans: map[*abi.Effect]*plan{}}
}

// Check reports, before anything is written, whether all effects of the sync's answer are well-formed and within the
// plugin's rights.
func (s *Session) Check(effects []abi.Effect) error {
	if err := s.checkEffects(effects); err != nil {
		return err
	}
	if len(effects) > 0 {
		s.checked = &effects[0]
	}
	return nil
}

// Perform does effects in the middle of a sync. The error is a refusal: nothing was written and the sync has failed.
func (s *Session) Perform(ctx context.Context, effects []abi.Effect) ([]abi.Outcome, error) {
	if err := s.checkEffects(effects); err != nil {
		return nil, err
	}
	outcomes, _ := s.performSequence(ctx, effects)
	// The guest now sees the answers: its next objects are compared with those.
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bases {
		b.seen = nil
		for _, version := range b.sent {
			delete(b.views, version) // its copy has the answer's version now; an older one conflicts
		}
		b.sent = nil
	}
	clear(s.plans)
	return outcomes, nil
}

// Finish does the effects of the sync's answer. The error is a refusal, or the first failure.
func (s *Session) Finish(ctx context.Context, effects []abi.Effect) error {
	if len(effects) == 0 {
		return nil
	}
	if s.checked != &effects[0] {
		if err := s.checkEffects(effects); err != nil {
			return err
		}
	}
	_, err := s.performSequence(ctx, effects)
	return err
}

// Writes is how many writes the session has sent, failed ones included.
func (s *Session) Writes() int { return int(s.writes.Load()) }

// End forgets what the sync saw. What it wrote stays remembered.
func (s *Session) End() { s.snapshot, s.bases, s.plans = nil, nil, nil }
