package effects

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// Session is what one sync of one key does.
type Session struct {
	w       *Writer
	key     abi.KeyRef
	writes  atomic.Int64 // sent
	checked *abi.Effect  // the first effect of the answer that Check has passed
	wakes   int          // of siblings, so far
	again   time.Time    // until then a request without a definite answer is sent again

	results      atomic.Int64 // bytes read live, held until the end
	allowance    allowance
	deferred     atomic.Int64 // nanoseconds
	failedAsk    atomic.Pointer[FailedAskError]
	serverFailed atomic.Bool // see ServerFailed

	bases      bases
	plans      plans
	signatures signatures
}

// Begin starts the effects of one sync of a key.
func (w *Writer) Begin(key abi.KeyRef, s Snapshot) *Session {
	return &Session{w: w, key: key, again: time.Now().Add(w.Again),
		bases: bases{controller: w.Controller, seen: w.seen, snapshot: s, of: map[objectKey]*base{}},
		plans: plans{of: map[*abi.Effect]*plan{}}}
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

// Examine reports whether effects are well-formed and within the manifest, for a sync of which nothing is done. It
// reserves and counts nothing.
func (s *Session) Examine(effects []abi.Effect) error {
	c := checker{Session: s, wakes: s.wakes, touched: map[objectKey]bool{}, created: map[objectKey]bool{}, examines: true}
	return c.checkList(effects, "", 0)
}

// Perform does effects in the middle of a sync. The error says that the sync has failed: it is a refusal, and nothing
// was written, or a [FailedAskError].
func (s *Session) Perform(ctx context.Context, effects []abi.Effect) ([]abi.Outcome, error) {
	if failed := s.failedAsk.Load(); failed != nil {
		return nil, failed // whoever can't be ended in the middle, as a plugin that runs natively, goes on to no effect
	}
	if err := s.checkEffects(effects); err != nil {
		return nil, err
	}
	outcomes, _ := s.performSequence(ctx, effects)
	if failed := s.failedAsk.Load(); failed != nil {
		return nil, failed
	}
	s.bases.settle()
	s.plans.clear()
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

// ServerFailed reports whether a request failed because the API server, or what it relies on, was away, too busy or
// broken: that passes without anything happening to the key.
func (s *Session) ServerFailed() bool { return s.serverFailed.Load() }

// Writes is how many writes the session has sent, failed ones included.
func (s *Session) Writes() int { return int(s.writes.Load()) }

// End forgets what the sync saw. What it wrote stays remembered.
func (s *Session) End() {
	s.plans.of = nil
	s.signatures.kept = nil
	s.bases.forget()
	s.w.Memory.Add(budget.Results, -s.results.Swap(0))
}

// hold has the plugin's memory hold so much more of what was read live, which the session keeps to its end.
func (s *Session) hold(bytes int64) error {
	err := s.w.Memory.Take(budget.Results, bytes)
	if err == nil {
		s.results.Add(bytes)
	}
	return err
}
