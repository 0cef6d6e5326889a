package effects

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/tracing"
)

// performEffect does one effect, and has a span tell of it where the sync is traced. The error is the failure that the
// outcome tells of, nil where it is tolerated.
func (s *Session) performEffect(ctx context.Context, e *abi.Effect) (abi.Outcome, error) {
	if e.Kind == abi.EffectGroup || tracing.From(ctx) == nil {
		return s.performOne(ctx, e)
	}
	what := verbs[e.Kind]
	resource := e.Resource
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}

	begin := tracing.Request
	switch e.Kind {
	case abi.EffectEvent, abi.EffectWake, abi.EffectPublish, abi.EffectFacts, abi.EffectView:
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

// Reason is why an effect failed, as an outcome has it: a word of Kubernetes' or of the host's, nothing of any object.
// Empty for other errors.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
