package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/tracing"
)

// Module is what is called: a [sandbox.Module], or a guest in its form.
type Module interface {
	// Sync hands over a message and returns the answer to read. Its error is that there is none, or that of read.
	Sync(ctx context.Context, call *sandbox.Call, read func(answer []byte) error) (sandbox.Stats, error)
}

// Perform answers what a guest performs: in is guest memory, p what it says, and out a PerformResponse. Its error ends
// the sync, whatever the guest makes of it.
type Perform = func(ctx context.Context, in []byte, p *abi.PerformRequest) (out []byte, err error)

// exchange is a call of a guest, with what the next one uses again: buffers, and functions that are made once, for each
// would be an allocation.
type exchange struct {
	sandboxed sandbox.Call
	read      func(answer []byte) error
	inSession Perform
	labelled  func(metric, row int32) ([]string, bool)

	perform  Perform
	refusal  error // of a perform
	performs []span
	told     int // bytes, in answer to performs
	answer   abi.SyncResponse
	buffer   []byte // the answer's bytes, copied out of the guest: its strings and objects point into it
}

// span is when something began and ended.
type span struct{ from, to time.Time }

// timed is how many performs of a sync are kept for its metrics' times.
const timed = 1024

// errRefused marks what can't be understood.
var errRefused = errors.New("refused")

// Call hands the request that was prepared to the guest, and returns its answer, which lasts until the next call. The
// error is that there is none.
func (s *Syncer) Call(ctx context.Context, perform Perform) (*abi.SyncResponse, sandbox.Stats, error) {
	if s.read == nil {
		s.sandboxed.Write, s.sandboxed.Perform, s.read = s.writeRequest, s.answerPerform, s.readAnswer
	}
	s.sandboxed.Size, s.sandboxed.Log = s.size, s.turn.Log
	s.perform, s.refusal, s.told, s.performs = perform, nil, 0, s.performs[:0]
	s.answer = abi.SyncResponse{}

	ctx, step := tracing.Start(ctx, "guest")
	stats, err := s.target.Module.Sync(ctx, &s.sandboxed, s.read)
	if s.refusal != nil && !errors.Is(err, s.refusal) {
		err = errors.Join(err, s.refusal) // a guest outside the sandbox may go on after it
	}
	endCallSpan(step, &stats, err)
	s.perform = nil
	if err != nil {
		return nil, stats, err
	}
	return &s.answer, stats, nil
}

// writeRequest writes the request into guest memory.
func (s *Syncer) writeRequest(b []byte) {
	b = abi.AppendRequest(b[:0], &s.request)
	for _, w := range s.turn.Witnesses {
		w.Request(b)
	}
}

func (s *Syncer) answerPerform(ctx context.Context, in []byte) (out []byte, err error) {
	began := time.Now()
	var p abi.PerformRequest
	if err = abi.DecodePerform(in, &p); err != nil {
		err = fmt.Errorf("%w: perform: %w", errRefused, err)
	} else {
		out, err = s.perform(ctx, in, &p)
	}

	if len(s.performs) < timed {
		s.performs = append(s.performs, span{began, time.Now()})
	}
	for _, w := range s.turn.Witnesses {
		w.Performed(in, out, err)
	}
	s.told += len(out)
	if err != nil {
		s.refusal = err
	}
	return out, err
}

func (s *Syncer) readAnswer(b []byte) error {
	s.buffer = append(s.buffer[:0], b...)
	for _, w := range s.turn.Witnesses {
		w.Answered(b)
	}
	if err := abi.DecodeResponse(s.buffer, &s.answer); err != nil {
		return fmt.Errorf("plugin %q: malformed answer of %d bytes: %w: build the plugin with an SDK of ABI v1",
			s.target.Plugin, len(b), err)
	}
	return nil
}
