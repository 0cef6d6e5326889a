package effects

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/tracing"
)

// MemberPanic is what a panic in a member of a group becomes in the goroutine of its sync, which can recover from it.
type MemberPanic struct {
	Value any
	Stack []byte // of the goroutine that did the member
}

func (p *MemberPanic) Error() string { return fmt.Sprint(p.Value) }

// performSequence does effects one after the other; the first failure stops those after it, but for those that run in
// any case.
func (s *Session) performSequence(ctx context.Context, effects []abi.Effect) ([]abi.Outcome, error) {
	outcomes := make([]abi.Outcome, len(effects))
	var failed error
	for i := range effects {
		if failed != nil && !effects[i].Always {
			outcomes[i] = skippedOutcome(&effects[i])
			continue
		}
		var err error
		if outcomes[i], err = s.performEffect(ctx, &effects[i]); err != nil && failed == nil {
			failed = err
		}
	}
	return outcomes, failed
}

var skipped = abi.Outcome{Code: abi.CodeSkipped, Reason: "Skipped", Message: "an earlier effect had failed"}

// skippedOutcome returns the outcome of an effect that, like its members, was not done.
func skippedOutcome(e *abi.Effect) abi.Outcome {
	o := skipped
	for i := range e.Members {
		o.Members = append(o.Members, skippedOutcome(&e.Members[i]))
	}
	return o
}

// performGroup does the members of a group by its mode.
func (s *Session) performGroup(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	var o abi.Outcome
	var err error
	switch e.Mode {
	case abi.Sequence:
		o.Members, err = s.performSequence(ctx, e.Members)
	default:
		o.Members, err = s.performMany(ctx, e.Members, e.Mode == abi.SlowStart)
		if e.Mode == abi.Independent {
			err = nil
		}
	}
	if err != nil {
		o.Code, o.Reason, o.Message = abi.CodeFailed, reasonOf(err), err.Error()
	}
	return o, err
}

// performMany does all members, a bounded number at a time, and returns the first failure in their order. A slow start
// begins with one; each that succeeds lets two begin, and after a failure none does. So of what is doomed to fail (for
// a quota, say) at most one member more is tried than has succeeded, as with upstream's batches of 1, 2, 4, …; but none
// waits for the slowest of a batch.
func (s *Session) performMany(ctx context.Context, members []abi.Effect, slow bool) ([]abi.Outcome, error) {
	outcomes, errs := make([]abi.Outcome, len(members)), make([]error, len(members))
	var (
		wg          sync.WaitGroup
		next, hands atomic.Int64
		failed      atomic.Bool
		panicked    atomic.Pointer[MemberPanic]
		most        = int64(min(s.w.Parallel, len(members)))
		work, begin func()
	)

	begin = func() {
		if hands.Add(1) <= most {
			wg.Go(work)
		}
	}

	work = func() {
		defer func() {
			if x := recover(); x != nil {
				failed.Store(true)
				panicked.CompareAndSwap(nil, &MemberPanic{x, debug.Stack()})
			}
		}()
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(members) {
				return
			}
			outcomes[i], errs[i] = s.performEffect(ctx, &members[i])
			switch {
			case !slow:
			case errs[i] != nil:
				failed.Store(true)
			default:
				begin()
			}
		}
	}
	for range most {
		if begin(); slow {
			break
		}
	}

	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
	for i := int(next.Load()); i < len(members); i++ {
		outcomes[i] = skippedOutcome(&members[i])
	}

	for _, err := range errs {
		if err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}

// performEffect does one effect, and has a span tell of it where the sync is traced. The error is the failure that the
// outcome tells of, nil where it is tolerated.
func (s *Session) performEffect(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if e.Kind == abi.EffectGroup {
		return s.performGroup(ctx, e)
	}
	if tracing.From(ctx) == nil {
		return s.performOne(ctx, e)
	}

	what := verbs[e.Kind]
	resource := e.Resource
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}

	begin := tracing.Request
	switch e.Kind {
	case abi.EffectEvent, abi.EffectWake, abi.EffectPublish, abi.EffectFacts, abi.EffectView,
		abi.EffectZone:
		begin = tracing.Start
	}

	// Not of which object: a guest makes up names.
	ctx, span := begin(ctx, "effect "+what)
	defer span.End()
	span.Text("windlass.verb", what)
	if resource != "" {
		span.Text("windlass.resource", resource)
	}

	o, err := s.performOne(ctx, e)
	switch {
	case err != nil:
		span.Fail(Reason(err))
	case o.Reason != "":
		span.Text("windlass.tolerated", o.Reason)
	}
	return o, err
}
