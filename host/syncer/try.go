package syncer

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/windlass-dev/windlass/abi"
)

// errReached ends a call that has come to a perform which nobody can answer.
var errReached = errors.New("it performs what isn't known")

// Try has the guest sync the key that was prepared, and does nothing of what it wants. The error is why [Syncer.Sync]
// would have refused its answer, or why there is none. answer returns what performs are answered with; where it has
// none, the call ends, and well, if the perform may be done.
func (s *Syncer) Try(ctx context.Context, answer func(in []byte, p *abi.PerformRequest) (out []byte, ok bool)) (
	err error) {

	if s.unready != nil {
		return s.unready
	}

	t := s.target
	s.session = t.Writer.Begin(s.turn.Key, &s.snapshot)
	defer func() {
		if x := recover(); x != nil {
			err = s.panicError(x, debug.Stack())
		}
		s.session.End()
		s.session, s.target, s.turn = nil, nil, nil
	}()

	a, _, err := s.Call(ctx, func(_ context.Context, in []byte, p *abi.PerformRequest) ([]byte, error) {
		if out, ok := answer(in, p); ok {
			return out, nil
		}
		if err := s.refuse(p.Effects); err != nil {
			return nil, err
		}
		if err := s.session.Examine(p.Effects); err != nil {
			return nil, err
		}
		return nil, errReached
	})
	switch {
	case errors.Is(err, errReached):
		return nil
	case err != nil:
		return s.recoveredError(err)
	}
	return s.checkAnswer(a, s.session.Examine)
}
