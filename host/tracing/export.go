package tracing

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config"
)

// What waits to be sent is bounded; spans that end beyond that are dropped.
const (
	queueMost    = 4096
	batchMost    = 512
	batchPeriod  = 2 * time.Second
	exportMost   = 10 * time.Second
	shutdownMost = 3 * time.Second
)

// spans counts what became of spans.
type spans struct{ exported, failed, dropped atomic.Int64 }

var ended = prometheus.NewDesc("windlass_trace_spans_total",
	"Spans of syncs by result: exported, failed (the collector could not be reached, or refused them), dropped (more "+
		"than can wait, or than one sync may have).", []string{"result"}, nil)

// Describe is prometheus.Collector's.
func (t *Tracer) Describe(c chan<- *prometheus.Desc) { c <- ended }

// Collect is prometheus.Collector's.
func (t *Tracer) Collect(c chan<- prometheus.Metric) {
	for result, n := range map[string]*atomic.Int64{"exported": &t.spans.exported, "failed": &t.spans.failed,
		"dropped": &t.spans.dropped} {
		c <- prometheus.MustNewConstMetric(ended, prometheus.CounterValue, float64(n.Load()), result)
	}
}

// Configure traces as the configuration says from now on. What was traced before is sent to where it was meant to go,
// in the background. After an error all stays as it was.
func (t *Tracer) Configure(c *config.Tracing) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *c == t.config {
		return nil
	}
	var next *live
	if c.Endpoint != "" {
		var err error
		if next, err = newLive(c, &t.spans); err != nil {
			return fmt.Errorf("tracing: %w", err)
		}
		if !c.TLS.Enabled && !c.Loopback() {
			klog.InfoS("Spans are sent without TLS to another machine, so others on the network can read the keys of syncs: "+
				"set tracing.tls.enabled", "endpoint", c.Endpoint)
		}
		klog.InfoS("Tracing syncs", "endpoint", c.Endpoint, "samplingRatePerMillion", c.SamplingRatePerMillion)
	}
	t.config = *c
	if before := t.live.Swap(next); before != nil {
		go before.shutDown()
	}
	return nil
}

// Close sends what waits, for a few seconds at most. Nothing is traced any more.
func (t *Tracer) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.config = config.Tracing{}
	if l := t.live.Swap(nil); l != nil {
		l.shutDown()
	}
}

func newLive(c *config.Tracing, counts *spans) (*live, error) {
	out, err := newClient(c)
	if err != nil {
		return nil, err
	}

	host, _ := os.Hostname()
	about, err := resource.New(context.Background(), resource.WithAttributes(
		attribute.String("service.name", "windlass"),
		attribute.String("service.instance.id", host+"_"+strconv.Itoa(os.Getpid())),
		attribute.String("host.name", host)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}

	sent, err := otlptrace.New(context.Background(), out)
	if err != nil {
		return nil, err
	}

	e := &exporter{SpanExporter: sent, spans: counts, complains: rate.Sometimes{Interval: time.Minute},
		endpoint: c.Endpoint}
	batches := sdktrace.NewBatchSpanProcessor(e, sdktrace.WithMaxQueueSize(queueMost),
		sdktrace.WithMaxExportBatchSize(batchMost),
		sdktrace.WithBatchTimeout(batchPeriod), sdktrace.WithExportTimeout(exportMost))

	p := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.TraceIDRatioBased(float64(c.SamplingRatePerMillion)/1_000_000)),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeValueLengthLimit: textMost, AttributeCountLimit: 32,
			EventCountLimit: 32, AttributePerEventCountLimit: 8}),
		sdktrace.WithResource(about),
		sdktrace.WithSpanProcessor(&gate{batches, e}))
	return &live{provider: p, tracer: p.Tracer("github.com/windlass-dev/windlass"), spans: counts}, nil
}

func (l *live) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownMost)
	defer cancel()
	if err := l.provider.Shutdown(ctx); err != nil {
		klog.InfoS("Some spans couldn't be exported before their exporter was shut down", "err", err)
	}
}

// gate counts the spans that wait, and drops those that are too many: the batch processor, which would do so too,
// doesn't say how many.
type gate struct {
	sdktrace.SpanProcessor
	*exporter
}

func (g *gate) OnEnd(s sdktrace.ReadOnlySpan) {
	if g.waiting.Add(1) > queueMost {
		g.waiting.Add(-1)
		g.spans.dropped.Add(1)
		return
	}
	g.SpanProcessor.OnEnd(s)
}

func (g *gate) Shutdown(ctx context.Context) error { return g.SpanProcessor.Shutdown(ctx) }

// exporter counts what was sent.
type exporter struct {
	sdktrace.SpanExporter
	spans     *spans
	waiting   atomic.Int64
	complains rate.Sometimes
	endpoint  string
}

func (e *exporter) ExportSpans(ctx context.Context, all []sdktrace.ReadOnlySpan) error {
	defer e.waiting.Add(-int64(len(all)))
	if err := e.SpanExporter.ExportSpans(ctx, all); err != nil {
		e.spans.failed.Add(int64(len(all)))
		e.complains.Do(func() {
			klog.ErrorS(err, "Can't export spans of syncs", "endpoint", e.endpoint, "lost", e.spans.failed.Load(), "dropped",
				e.spans.dropped.Load())
		})
		return nil // it is said
	}
	e.spans.exported.Add(int64(len(all)))
	return nil
}
