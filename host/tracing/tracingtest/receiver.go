// Package tracingtest is a collector of spans for tests: the real gRPC server with OpenTelemetry's service.
package tracingtest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Receiver is a collector.
type Receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	// Address is its host:port, on loopback.
	Address string
	// Refuse, if set, may answer an Export with an error. It is set before spans come.
	Refuse func() error

	mu       sync.Mutex
	resource *resourcepb.Resource
	spans    []*tracepb.Span
	bytes    []byte
}

// Start runs a collector until the test is over.
func Start(t testing.TB, o ...grpc.ServerOption) *Receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Receiver{Address: l.Addr().String()}
	s := grpc.NewServer(o...)
	collectorpb.RegisterTraceServiceServer(s, r)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Errorf("the collector: %v", err)
		}
	})
	return r
}

// Export is the service's method.
func (r *Receiver) Export(_ context.Context,
	q *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	if r.Refuse != nil {
		if err := r.Refuse(); err != nil {
			return nil, err
		}
	}
	b, err := proto.Marshal(q)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes = append(r.bytes, b...)
	for _, x := range q.ResourceSpans {
		r.resource = x.Resource
		for _, s := range x.ScopeSpans {
			r.spans = append(r.spans, s.Spans...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// Received returns the bytes of all that was received so far.
func (r *Receiver) Received() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bytes)
}

// Resource returns an attribute of the process that has sent the spans.
func (r *Receiver) Resource(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, _ := findValue(r.resource.GetAttributes(), name)
	return v.GetStringValue()
}

// Span is a span with those within it, in the order in which they began.
type Span struct {
	*tracepb.Span
	Within []*Span
}

// Roots returns the spans that are in no other one, as far as they have come.
func (r *Receiver) Roots() (roots []*Span) {
	r.mu.Lock()
	all := slices.Clone(r.spans)
	r.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *tracepb.Span) int {
		return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano))
	})
	byID := map[string]*Span{}
	for _, s := range all {
		byID[string(s.TraceId)+string(s.SpanId)] = &Span{Span: s}
	}
	for _, s := range all {
		x := byID[string(s.TraceId)+string(s.SpanId)]
		if len(s.ParentSpanId) == 0 {
			roots = append(roots, x)
		} else if p := byID[string(s.TraceId)+string(s.ParentSpanId)]; p != nil {
			p.Within = append(p.Within, x)
		}
	}
	return roots
}

func findValue(all []*commonpb.KeyValue, name string) (*commonpb.AnyValue, bool) {
	for _, a := range all {
		if a.Key == name {
			return a.Value, true
		}
	}
	return nil, false
}

// Has reports whether there is an attribute.
func (x *Span) Has(name string) bool {
	_, ok := findValue(x.Attributes, name)
	return ok
}

// Text returns an attribute's text.
func (x *Span) Text(name string) string {
	v, _ := findValue(x.Attributes, name)
	return v.GetStringValue()
}

// Int returns an attribute's number.
func (x *Span) Int(name string) int64 {
	v, _ := findValue(x.Attributes, name)
	return v.GetIntValue()
}

// Named returns the spans of a name anywhere within.
func (x *Span) Named(name string) (all []*Span) {
	for _, w := range x.Within {
		if w.Name == name {
			all = append(all, w)
		}
		all = append(all, w.Named(name)...)
	}
	return all
}
