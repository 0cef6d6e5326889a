// Package tracing tells an OpenTelemetry collector of syncs, where one is configured. Where none is, a call costs a
// look at a pointer and allocates nothing.
//
// A sync has one span, with children for its snapshot, the guest's call, what that performs, and each effect. Spans
// have names, numbers and reasons: never anything of an object but its key, and never the text of an error, which may
// have any of its data.
package tracing

import (
	"context"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/printable"
)

// Tracer begins the spans of syncs; nil, or not configured, it is off.
type Tracer struct {
	live  atomic.Pointer[live]
	spans spans

	mu     sync.Mutex
	config config.Tracing // what live was made from
}

// live is a tracer that is on.
type live struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	spans    *spans
}

// spansMost bounds the spans of one sync: an answer may have 100,000 effects.
const spansMost = 1000

// textMost bounds a text in bytes.
const textMost = 512

// On reports whether any sync is traced.
func (t *Tracer) On() bool { return t != nil && t.live.Load() != nil }

// Span is a step of a sync. All methods of a nil Span, that of a step that isn't traced, do nothing.
type Span struct {
	span trace.Span
	live *live
	left *atomic.Int32 // spans that the sync may still begin
}

type spanKey struct{}

// Root begins the span of a sync, nil for one that isn't traced. The context is for what is done within it.
func (t *Tracer) Root(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	l := t.live.Load()
	if l == nil {
		return ctx, nil
	}
	_, span := l.tracer.Start(ctx, name, trace.WithNewRoot())
	if !span.IsRecording() {
		return ctx, nil
	}
	s := &Span{span: span, live: l, left: new(atomic.Int32)}
	s.left.Store(spansMost - 1)
	return context.WithValue(ctx, spanKey{}, s), s
}

// From returns the span that a context is within, nil for none.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Start begins a step within the context's span, nil if there is none.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	return startSpan(ctx, name, trace.SpanKindInternal)
}

// Request is Start for a step that sends requests; their receiver's spans join it by [Parent].
func Request(ctx context.Context, name string) (context.Context, *Span) {
	return startSpan(ctx, name, trace.SpanKindClient)
}

func startSpan(ctx context.Context, name string, kind trace.SpanKind) (context.Context, *Span) {
	parent := From(ctx)
	if parent == nil {
		return ctx, nil
	}
	if parent.left.Add(-1) < 0 {
		parent.live.spans.dropped.Add(1)
		return ctx, nil
	}
	_, span := parent.live.tracer.Start(trace.ContextWithSpan(ctx, parent.span), printable.Line(name, textMost),
		trace.WithSpanKind(kind))
	s := &Span{span: span, live: parent.live, left: parent.left}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Parent is the traceparent header of a request within the context's span (https://www.w3.org/TR/trace-context), empty
// for none.
func Parent(ctx context.Context) string {
	s := From(ctx)
	if s == nil {
		return ""
	}
	c := s.span.SpanContext()
	trace, span := c.TraceID(), c.SpanID()
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(span[:]) + "-" + c.TraceFlags().String()
}

// Text says something of the span. The string isn't kept.
func (s *Span) Text(name, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(name, printable.Line(value, textMost)))
	}
}

// Int says a number.
func (s *Span) Int(name string, value int64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(name, value))
	}
}

// Seconds says a time.
func (s *Span) Seconds(name string, value time.Duration) {
	if s != nil {
		s.span.SetAttributes(attribute.Float64(name, value.Seconds()))
	}
}

// Event says that something happened, and with what: a name and a text, both or neither.
func (s *Span) Event(what string, at time.Time, name, value string) {
	switch {
	case s == nil:
	case name == "":
		s.span.AddEvent(what, trace.WithTimestamp(at))
	default:
		s.span.AddEvent(what, trace.WithTimestamp(at), trace.WithAttributes(attribute.String(name,
			printable.Line(value, textMost))))
	}
}

// Fail marks the span as failed for a reason, which must be the host's own words.
func (s *Span) Fail(reason string) {
	if s != nil {
		s.span.SetStatus(codes.Error, printable.Line(reason, textMost))
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}
