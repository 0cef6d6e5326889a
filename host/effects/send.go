package effects

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/tracing"
)

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
func (w *Writer) send(ctx context.Context, r *apiserver.Request) (answer, error) {
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
		body, sent, err := w.client.SendOnce(ctx, r, timeout)
		if w.Metrics.Write != nil {
			w.Metrics.Write(r.Verb, r.Resource.String(), r.Subresource, statusCodeOf(err), time.Since(start))
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
			if losses++; r.Foreign && (r.Method == "GET" || statusCodeOf(err) == http.StatusServiceUnavailable ||
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
	if err == nil || errors.As(err, new(*budget.MemoryError)) {
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

// enter begins a request that none may send whose version was revoked. Without an error the caller must leave.
func (w *Writer) enter(r *apiserver.Request) (leave func(), err error) {
	w.gate.RLock()
	if w.revoked {
		w.gate.RUnlock()
		return nil, fmt.Errorf("%s: not sent: this version of plugin %s was replaced and may no longer write", r, w.Plugin)
	}
	return w.gate.RUnlock, nil
}

// sendWrite sends a write and counts it.
func (s *Session) sendWrite(ctx context.Context, e *abi.Effect, r *apiserver.Request) (answer, error) {
	leave, err := s.w.enter(r)
	if err != nil {
		return answer{}, err
	}
	defer leave()
	if !e.DryRun {
		s.writes.Add(1)
	}
	a, err := s.w.send(ctx, r)
	s.reportWrite(e, r, a, err)
	return a, err
}
