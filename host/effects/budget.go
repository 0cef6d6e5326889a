package effects

import (
	"fmt"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// OverBudgetError says that a sync has to wait because its plugin has sent all the deletes that it may send in a
// minute.
type OverBudgetError struct {
	Plugin string
	After  time.Duration
}

func (e *OverBudgetError) Error() string {
	return fmt.Sprintf("plugin %q has sent all deletes that plugins[%s].budget.deletesPerMinute allows: the key is synced again in %v", e.Plugin, e.Plugin, e.After.Round(time.Millisecond))
}

// Reason is the outcome's.
func (e *OverBudgetError) Reason() string { return "TooManyRequests" }

// deletes reports whether an effect is a delete by its name; see [Session.countsAsDelete].
func deletes(e *abi.Effect) bool {
	switch e.Kind {
	case abi.EffectDelete, abi.EffectEvict, abi.EffectDeleteCollection:
		return true
	}
	return false
}

// allowance is how many deletes a sync may still send.
type allowance struct {
	mu   sync.Mutex
	left int
}

func (a *allowance) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left += n
}

// take takes one, and reports whether there was one.
func (a *allowance) take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := a.left
	a.left = max(left-1, 0)
	return left > 0
}

// reserve asks for an answer's deletes before anything of it is written: either all of them may be sent, or none and
// the sync waits. What has more than a minute's is begun all the same.
func (s *Session) reserve(n int) error {
	if n == 0 || s.w.Deletes == nil {
		return nil
	}
	allowed, wait := s.w.Deletes.Take(budget.Taker{Controller: s.w.Controller.Name, Key: s.key}, n)
	if wait > 0 {
		return s.overBudget(wait)
	}
	s.allowance.add(allowed)
	return nil
}

// spendDelete takes one of the deletes that were reserved.
func (s *Session) spendDelete() error {
	if s.w.Deletes == nil {
		return nil
	}
	if s.allowance.take() {
		return nil
	}
	allowed, wait := s.w.Deletes.Take(budget.Taker{Controller: s.w.Controller.Name, Key: s.key}, 1)
	if allowed > 0 {
		return nil // a minute has passed since
	}
	return s.overBudget(wait)
}

func (s *Session) overBudget(wait time.Duration) error {
	if s.deferred.Swap(int64(wait)) == 0 && s.w.Metrics.OverBudget != nil {
		s.w.Metrics.OverBudget()
	}
	return &OverBudgetError{Plugin: s.w.Plugin, After: wait}
}

// Deferred is after how long the sync has to be repeated because the budget was exhausted; 0: it wasn't.
func (s *Session) Deferred() time.Duration { return time.Duration(s.deferred.Load()) }
