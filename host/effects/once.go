package effects

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
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/effects/envelope"
	"github.com/windlass-dev/windlass/host/tracing"
)

// client is one identity's connection to the API server.
type client struct {
	rest.Interface
	over *http.Client
	base *url.URL
}

func newClient(config *rest.Config, connect func(*rest.Config) (*http.Client, error),
	limiter flowcontrol.RateLimiter) (client, error) {
	c := limited(config, limiter)
	c.ContentType = envelope.Protobuf
	c.AcceptContentTypes = envelope.Accepted
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.Timeout = 0 // each request has its own
	over, err := connect(c)
	if err != nil {
		return client{}, err
	}
	base, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return client{}, err
	}
	r, err := rest.UnversionedRESTClientForConfigAndClient(c, over)
	return client{r, over, base}, err
}

// sendOnce sends the request; sent tells whether the server may have seen it.
//
// It does what client-go's Request does, which builds the address five times, for its metrics, and finds a decoder for
// an answer that is taken as it is. That was 58 of the 273 allocations of a create, the server's included
// (TestOnceAllocations).
func (c client) sendOnce(ctx context.Context, r *request, timeout time.Duration) (body []byte, sent bool, err error) {
	ctx, release := lingering(ctx)
	defer release()
	began := time.Now()
	defer func() { metrics.RequestLatency.Observe(ctx, r.method, *c.base, time.Since(began)) }()
	if err := c.awaitRateLimit(ctx, r); err != nil {
		return nil, false, err
	}

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }}
	q, err := c.buildRequest(httptrace.WithClientTrace(ctx, trace), r, timeout)
	if err != nil {
		return nil, false, err
	}

	a, err := c.over.Do(q)
	metrics.RequestSize.Observe(ctx, r.method, c.base.Host, float64(len(r.body)))
	code := "<error>" // as client-go's
	if err == nil {
		defer a.Body.Close()
		code = strconv.Itoa(a.StatusCode)
		tracing.From(ctx).Int("http.response.status_code", int64(a.StatusCode))
	}

	metrics.RequestResult.Increment(ctx, code, r.method, c.base.Host)
	if err != nil {
		return nil, wrote.Load(), err
	}

	if body, err = readBody(a); err != nil {
		return nil, wrote.Load(), fmt.Errorf("reading the server's answer: %w", err)
	}
	metrics.ResponseSize.Observe(ctx, r.method, c.base.Host, float64(len(body)))
	if a.StatusCode < http.StatusOK || a.StatusCode > http.StatusPartialContent {
		return nil, wrote.Load(), refusal(r, a, body)
	}
	return body, wrote.Load(), nil
}

// awaitRateLimit waits for the request's turn at the rate limit.
func (c client) awaitRateLimit(ctx context.Context, r *request) error {
	began := time.Now()
	err := c.GetRateLimiter().Wait(ctx)
	waited := time.Since(began)
	if waited > throttledLong {
		throttled(r, waited)
	}
	metrics.RateLimiterLatency.Observe(ctx, r.method, *c.base, waited)
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

func throttled(r *request, waited time.Duration) {
	now, last := time.Now().UnixNano(), throttledLast.Load()
	if now-last > int64(throttledEvery) && throttledLast.CompareAndSwap(last, now) {
		klog.InfoS("Waited before sending request", "delay", waited, "reason",
			"client-side throttling, not priority and fairness", "request", r.String())
	}
}

// buildRequest makes the request that net/http sends.
func (c client) buildRequest(ctx context.Context, r *request, timeout time.Duration) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, r.method, "", nil)
	if err != nil {
		return nil, err
	}
	to := *c.base
	to.Path = path.Join(append([]string{"/", to.Path}, r.path()...)...)
	query := make(url.Values, len(r.params)+1)
	for k, v := range r.params {
		query.Set(k, v)
	}
	query.Set("timeout", timeout.String())
	to.RawQuery = query.Encode()
	q.URL, q.Host = &to, to.Host
	if r.body != nil {
		q.ContentLength = int64(len(r.body))
		body := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(r.body)) }
		q.Body, q.GetBody = body(), func() (io.ReadCloser, error) { return body(), nil }
		q.Header.Set("Content-Type", r.contentType)
	}
	q.Header.Set("Accept", cmp.Or(r.accept, envelope.Accepted))
	if tracing.From(ctx) != nil {
		q.Header.Set("traceparent", tracing.Parent(ctx))
	}
	return q, nil
}

// readBody reads an answer to its end.
func readBody(a *http.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := a.ContentLength; n > 0 && n <= readMax {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(a.Body)
	return b.Bytes(), err
}

// refusal is the error that an answer tells of: the Status in it, or what its code means.
func refusal(r *request, a *http.Response, body []byte) error {
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
	return apierrors.NewGenericServerResponse(a.StatusCode, r.method, apischema.GroupResource{}, "", message, after, true)
}

// linger is how long a request that is on its way when its context ends may still take: what was begun should have a
// definite end.
const linger = 5 * time.Second

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

// limited is the configuration with another rate limit, nil for none.
func limited(config *rest.Config, limiter flowcontrol.RateLimiter) *rest.Config {
	c := rest.CopyConfig(config)
	c.RateLimiter = limiter
	if limiter == nil {
		c.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	}
	return c
}

// request is one request, the same however often it is sent.
type request struct {
	method      string
	verb        string // as RBAC has it
	resource    abi.Resource
	subresource string
	namespace   string
	name        string
	contentType string
	accept      string // other than the client's own
	body        []byte
	// foreign tells that a resource isn't built in: another server may stand behind it.
	foreign bool
	params  map[string]string
}

func (r *request) path() []string {
	p := []string{"apis", r.resource.Group, r.resource.Version}
	if r.resource.Group == "" {
		p = []string{"api", r.resource.Version}
	}
	if r.namespace != "" {
		p = append(p, "namespaces", r.namespace)
	}
	p = append(p, r.resource.Name)
	if r.name != "" {
		p = append(p, r.name)
	}
	if r.subresource != "" {
		p = append(p, r.subresource)
	}
	return p
}

// String says what the request is about, for errors.
func (r *request) String() string {
	s := r.verb + " " + r.resource.String()
	if r.subresource != "" {
		s += "/" + r.subresource
	}
	name := r.name
	if r.namespace != "" {
		name = r.namespace + "/" + name
	}
	if name == "" {
		return s
	}
	return s + " " + name
}
