package effects

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/tracing"
)

const protobuf = runtime.ContentTypeProtobuf

// accepted are the forms of an answer. Refusals on the way (authentication, proxies) come as JSON whatever was asked
// for.
const accepted = protobuf + "," + runtime.ContentTypeJSON

// How metadata alone is asked for; of a server that has no protobuf, such as one behind the aggregator may be, it comes
// as JSON.
const (
	metadataForm     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListForm = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	acceptMetadata   = protobuf + metadataForm + "," + runtime.ContentTypeJSON + metadataForm + "," +
		runtime.ContentTypeJSON
	acceptMetadatas = protobuf + metadataListForm + "," + runtime.ContentTypeJSON + metadataListForm + "," +
		runtime.ContentTypeJSON
)

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

// answer is what became of a request.
type answer struct {
	body []byte
	// repeated tells that an earlier try may have been done already.
	repeated bool
}

// How long a lost answer is waited for before it is asked for again.
const (
	backoffFirst = 50 * time.Millisecond
	backoffMax   = 5 * time.Second
)

// throttledMax is how often a server that says "too many requests" is asked again.
const throttledMax = 10

// foreignLosses is how often a write to a resource that isn't built in is sent again.
const foreignLosses = 5

// send sends a request until the answer is definite or ctx ends.
//
// An answer that was lost leaves open whether the request was done. The object's collection can't tell (the request may
// commit after the look), so the identical request is sent again: creates have a name, updates a version, deletes a
// UID, none can happen twice.
func (w *Writer) send(ctx context.Context, r *request) (answer, error) {
	var a answer
	backoff, throttled, losses := backoffFirst, 0, 0
	for {
		if ctx.Err() != nil {
			return a, fmt.Errorf("%s: not sent: %w", r, context.Cause(ctx))
		}
		timeout := w.Timeout
		if w.Lease != nil {
			left, err := w.Lease(ctx)
			if err != nil {
				return a, fmt.Errorf("%s: not sent: %w", r, err)
			}
			timeout = min(timeout, left)
		}

		start := time.Now()
		body, sent, err := w.client.sendOnce(ctx, r, timeout)
		if w.Metrics.Write != nil {
			w.Metrics.Write(r.verb, r.resource.String(), r.subresource, statusCodeOf(err), time.Since(start))
		}

		wait := time.Duration(0)
		switch verdict(err) {
		case definite:
			a.body = body
			return a, err
		case throttling:
			if throttled++; throttled > throttledMax {
				return a, err
			}
			seconds, _ := apierrors.SuggestsClientDelay(err)
			wait = max(time.Duration(seconds)*time.Second, backoff)
		case lost:
			if losses++; r.foreign && (r.method == "GET" || statusCodeOf(err) == http.StatusServiceUnavailable ||
				losses > foreignLosses) {
				return a, err // its server, or a webhook that converts it, may be down for long
			}
			if !sent && !a.repeated {
				return a, err // nothing was written: the key's own backoff does
			}
			a.repeated = a.repeated || sent
			wait = backoff
		}

		tracing.From(ctx).Event("sent again", time.Now(), "", "")
		w.log.V(2).Info("No definite answer, sending the request again", "request", r.String(), "err", err, "after", wait)
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return a, fmt.Errorf("%s: whether it was done is not known: %w (last: %w)", r, context.Cause(ctx), err)
		case <-timer.C:
		}
		backoff = min(2*backoff, backoffMax)
	}
}

func statusCodeOf(err error) int {
	var s apierrors.APIStatus
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &s):
		return int(s.Status().Code)
	}
	return 0
}

// kinds of answers.
const (
	definite = iota
	throttling
	lost
)

// verdict reports whether an answer says what became of the request.
func verdict(err error) int {
	if err == nil {
		return definite
	}
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return lost
	}
	status := s.Status()
	switch status.Code {
	case http.StatusTooManyRequests:
		if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
			return definite
		}
		return throttling
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return lost
	case http.StatusInternalServerError:
		// The server's own errors are definite, but for etcd's: those (and what a proxy made up) say nothing about the write.
		if apierrors.IsUnexpectedServerError(err) || strings.Contains(status.Message, "etcdserver:") ||
			strings.Contains(status.Message, "context deadline exceeded") {
			return lost
		}
	}
	return definite
}

// NamespaceTerminatingReason is the Reason of an outcome whose object can't be made because its namespace is being
// deleted.
const NamespaceTerminatingReason = "NamespaceTerminating"

// reasonOf names an error as an Outcome does.
func reasonOf(err error) string {
	if apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return NamespaceTerminatingReason
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	var own interface{ Reason() string }
	switch {
	case errors.As(err, &own):
		return own.Reason()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "Canceled"
	}
	return "Unavailable"
}
