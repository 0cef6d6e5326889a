package syncer

import (
	"errors"

	"github.com/windlass-dev/windlass/host/effects"
	"github.com/windlass-dev/windlass/host/sandbox"
	"github.com/windlass-dev/windlass/host/tracing"
)

// Cause returns why a sync or a call failed in the host's words, which begin with its result: an error's own text may
// have an object's data in it.
func Cause(result string, err error) string {
	var call *sandbox.CallError
	switch reason := effects.Reason(err); {
	case reason != "":
		return result + ": " + reason
	case errors.As(err, &call):
		return result + ": " + call.Kind.Error()
	}
	return result
}

// endCallSpan ends the span of a call into the sandbox.
func endCallSpan(span *tracing.Span, s *sandbox.Stats, err error) {
	if span == nil {
		return
	}
	span.Int("windlass.fuel", s.Fuel)
	span.Int("windlass.memory.bytes", s.Memory)
	span.Int("windlass.performs", int64(s.Performs))
	span.Seconds("windlass.guest.seconds", s.Duration)
	span.Seconds("windlass.restore.seconds", s.Restore)
	span.Seconds("windlass.place.seconds", s.Wait)
	if err != nil {
		span.Fail(Cause("failed", err))
	}
	span.End()
}
