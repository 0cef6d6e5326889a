package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/tracing"
)

// SendOnce sends the request; sent tells whether the server may have seen it.
//
// It does what client-go's Request does (TestOnceIsRequest), which builds the address five times, for its metrics, and
// finds a decoder for an answer that is taken as it is: see RATIONALE.md, "Why are writes sent without client-go's
// Request?".
func (c Client) SendOnce(ctx context.Context, r *Request, timeout time.Duration) (body []byte, sent bool, err error) {
	ctx, release := lingering(ctx)
	defer release()
	began := time.Now()
	defer func() { metrics.RequestLatency.Observe(ctx, r.Method, *c.base, time.Since(began)) }()
	if err := c.awaitRateLimit(ctx, r); err != nil {
		return nil, false, err
	}

	awaiting.Sent(ctx)
	ctx, cancel := context.WithTimeout(ctx, timeout+answerGrace)
	defer cancel()
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }}
	q, err := c.buildRequest(httptrace.WithClientTrace(ctx, trace), r, timeout)
	if err != nil {
		return nil, false, err
	}

	a, err := c.over.Do(q)
	metrics.RequestSize.Observe(ctx, r.Method, c.base.Host, float64(len(r.Body)))
	code := "<error>" // as client-go's
	if err == nil {
		defer a.Body.Close()
		code = strconv.Itoa(a.StatusCode)
		tracing.From(ctx).Int("http.response.status_code", int64(a.StatusCode))
	}

	metrics.RequestResult.Increment(ctx, code, r.Method, c.base.Host)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, awaiting.ErrEnded) {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		return nil, wrote.Load(), err
	}

	if body, err = readBody(a, r.Hold); err != nil {
		return nil, wrote.Load(), fmt.Errorf("reading the server's answer: %w", err)
	}
	metrics.ResponseSize.Observe(ctx, r.Method, c.base.Host, float64(len(body)))
	if a.StatusCode < http.StatusOK || a.StatusCode > http.StatusPartialContent {
		return nil, wrote.Load(), refusal(r, a, body)
	}
	return body, wrote.Load(), nil
}

// awaitRateLimit waits for the request's turn at the rate limit.
func (c Client) awaitRateLimit(ctx context.Context, r *Request) error {
	began := time.Now()
	err := c.GetRateLimiter().Wait(ctx)
	waited := time.Since(began)
	if waited > throttledLong {
		throttled(r, waited)
	}
	metrics.RateLimiterLatency.Observe(ctx, r.Method, *c.base, waited)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("client rate limiter Wait returned an error: %w", err)
	}
	return err
}

// A wait at the rate limit that is longer than the first is told of, not oftener than the second.
const (
	throttledLong  = time.Second
	throttledEvery = 10 * time.Second
)

var throttledLast atomic.Int64

func throttled(r *Request, waited time.Duration) {
	now, last := time.Now().UnixNano(), throttledLast.Load()
	if now-last > int64(throttledEvery) && throttledLast.CompareAndSwap(last, now) {
		klog.InfoS("Waited before sending request", "delay", waited, "reason",
			"client-side throttling, not priority and fairness", "request", r.String())
	}
}

// buildRequest makes the request that net/http sends.
func (c Client) buildRequest(ctx context.Context, r *Request, timeout time.Duration) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, r.Method, "", nil)
	if err != nil {
		return nil, err
	}
	to := *c.base
	to.Path = strings.TrimSuffix(to.Path, "/") + "/" + strings.Join(r.path(), "/") // nothing in it is resolved
	query := make(url.Values, len(r.Params)+1)
	for k, v := range r.Params {
		query.Set(k, v)
	}
	query.Set("timeout", timeout.String())
	to.RawQuery = query.Encode()
	q.URL, q.Host = &to, to.Host
	if r.Body != nil {
		q.ContentLength = int64(len(r.Body))
		body := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(r.Body)) }
		q.Body, q.GetBody = body(), func() (io.ReadCloser, error) { return body(), nil }
		q.Header.Set("Content-Type", r.ContentType)
	}
	q.Header.Set("Accept", cmp.Or(r.Accept, envelope.Accepted))
	if tracing.From(ctx) != nil {
		q.Header.Set("traceparent", tracing.Parent(ctx))
	}
	return q, nil
}

// growMost is up to which length of an answer, in bytes, its buffer is made as large as the answer is said to be.
const growMost = 16 << 20

// readBody reads an answer to its end.
func readBody(a *http.Response, hold func(bytes int64) error) ([]byte, error) {
	var b bytes.Buffer
	if hold != nil {
		a.Body = &Held{a.Body, hold}
	}
	if n := a.ContentLength; n > 0 && n <= growMost {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(a.Body)
	return b.Bytes(), err
}

// Held is an answer that is held on a plugin's memory as it is read.
type Held struct {
	io.ReadCloser
	Hold func(bytes int64) error
}

// Read reads, and ends with Hold's error where there is no room for what was read.
func (h *Held) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	if n > 0 {
		if refused := h.Hold(int64(n)); refused != nil {
			return 0, refused
		}
	}
	return n, err
}

// refusal is the error that an answer tells of: the Status in it, or what its code means.
func refusal(r *Request, a *http.Response, body []byte) error {
	form := a.Header.Get("Content-Type")
	if envelope.IsProtobuf(body) || strings.HasPrefix(form, runtime.ContentTypeJSON) {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body,
			&apischema.GroupVersionKind{Version: "v1", Kind: "Status"}, nil)
		if s, ok := o.(*metav1.Status); err == nil && ok && s.Status == metav1.StatusFailure {
			return apierrors.FromObject(s)
		}
	}
	const most = 2 << 10
	message := "unknown"
	if form == "" || strings.HasPrefix(form, "text/") {
		message = strings.TrimSpace(string(body[:min(len(body), most)]))
	}
	after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
	return apierrors.NewGenericServerResponse(a.StatusCode, r.Method, apischema.GroupResource{}, "", message, after, true)
}

// linger is how long a request that is on its way when its context ends may still take: what was begun should have a
// definite end.
const linger = 5 * time.Second

// answerGrace is how much longer than the server may take for a request its answer is waited for: the answer at the end
// of its time says why nothing was done, where giving up first says nothing.
const answerGrace = time.Second

// lingering returns a context that ends a while after ctx.
func lingering(ctx context.Context) (context.Context, func()) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(linger, func() { cancel(context.Cause(ctx)) })
	})
	return later, func() {
		stop()
		cancel(nil)
	}
}
