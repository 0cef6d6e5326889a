package effects

import (
	"context"
	"sync"

	"github.com/windlass-dev/windlass/abi"
)

var skipped = abi.Outcome{Code: abi.CodeSkipped, Reason: "Skipped", Message: "an earlier effect had failed"}

// sequence does effects one after the other; the first failure stops those after it, but for those that run in any case.
func (s *Session) sequence(ctx context.Context, effects []abi.Effect) ([]abi.Outcome, error) {
	outcomes := make([]abi.Outcome, len(effects))
	var failed error
	for i := range effects {
		if failed != nil && !effects[i].Always {
			outcomes[i] = skip(&effects[i])
			continue
		}
		var err error
		if outcomes[i], err = s.do(ctx, &effects[i]); err != nil && failed == nil {
			failed = err
		}
	}
	return outcomes, failed
}

// skip marks an effect and its members as not done.
func skip(e *abi.Effect) abi.Outcome {
	o := skipped
	for i := range e.Members {
		o.Members = append(o.Members, skip(&e.Members[i]))
	}
	return o
}

// group does the members of a group by its mode.
func (s *Session) group(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	var o abi.Outcome
	var err error
	switch e.Mode {
	case abi.Sequence:
		o.Members, err = s.sequence(ctx, e.Members)
	case abi.SlowStart:
		o.Members, err = s.slowStart(ctx, e.Members)
	default:
		o.Members = make([]abi.Outcome, len(e.Members))
		err = s.parallel(ctx, e.Members, o.Members)
		if e.Mode == abi.Independent {
			err = nil
		}
	}
	if err != nil {
		o.Code, o.Reason, o.Message = abi.CodeFailed, reasonOf(err), err.Error()
	}
	return o, err
}

// slowStart does 1, 2, 4, … members at once while none fails: what is doomed to fail (a quota, say) costs a few requests, not all.
func (s *Session) slowStart(ctx context.Context, members []abi.Effect) ([]abi.Outcome, error) {
	outcomes := make([]abi.Outcome, len(members))
	var failed error
	done := 0
	for size := 1; done < len(members) && failed == nil; size *= 2 {
		end := min(done+size, len(members))
		failed = s.parallel(ctx, members[done:end], outcomes[done:end])
		done = end
	}
	for i := done; i < len(members); i++ {
		outcomes[i] = skip(&members[i])
	}
	return outcomes, failed
}

// parallel does all members, a bounded number at a time, and gives the first failure in their order.
func (s *Session) parallel(ctx context.Context, members []abi.Effect, outcomes []abi.Outcome) error {
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(s.w.Parallel, len(members)) {
		wg.Go(func() {
			for i := range next {
				outcomes[i], errs[i] = s.do(ctx, &members[i])
			}
		})
	}
	for i := range members {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
