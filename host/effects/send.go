package effects

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/awaiting"
	"github.com/windlass-dev/windlass/host/effects/apiserver"
	"github.com/windlass-dev/windlass/host/tracing"
)

// answer is what became of a request.
type answer struct {
	body []byte
	// repeated tells that an earlier try may have been done already.
	repeated bool
	// unknown is until when a try whose end isn't known may still be done; zero: each try's end is known.
	unknown time.Time
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

// requestMax is how long the API server takes at most for a write of one object, whatever timeout= says
// (requestTimeoutUpperBound in apiserver pkg/endpoints/handlers/rest.go).
const requestMax = 34 * time.Second

// settleMargin is how much longer than a request's time may be until what it wrote is there: etcd may commit what it
// was sent though nobody waits for it any more.
const settleMargin = 5 * time.Second

// timeoutSlack is by how much a time that was sent in timeout= may have been rounded down.
const timeoutSlack = 10 * time.Millisecond

// send sends a request until the answer is definite, ctx ends, or it is too late to send anything again.
//
// An answer that was lost leaves open whether the request was done. The object's collection can't tell (the request may
// commit after the look), so the identical request is sent again if it can't be done twice: a create with a name, what
// demands a version, a delete of a UID. What could be done twice, or over what another has changed since, isn't: its
// sync ends, and the key looks again.
func (w *Writer) send(ctx context.Context, r *apiserver.Request, again time.Time) (answer, error) {
	ctx, awaited := awaiting.Begin(ctx, r)
	defer awaited.End()
	var a answer
	backoff, throttled, losses := backoffFirst, 0, 0
	outlasting := r.OfOne && w.Outlast != nil && w.slow.has(r) // this process's Lease, if need be
	for {
		if ctx.Err() != nil {
			return a, fmt.Errorf("%s: not sent: %w", r, context.Cause(ctx))
		}
		if err := w.refuseRevoked(r); err != nil {
			return a, err
		}
		timeout, left := w.Timeout, w.Timeout
		if w.Lease != nil {
			var err error
			if left, err = w.Lease(ctx); err != nil {
				return a, fmt.Errorf("%s: not sent: %w", r, err)
			}
			if !outlasting {
				timeout = min(timeout, left)
			}
		}

		start := time.Now()
		try := ctx
		if outlasting {
			try = w.Outlast(ctx)
		}
		body, sent, err := w.client.SendOnce(try, r, timeout)
		if w.Metrics.Write != nil {
			w.Metrics.Write(r.Verb, r.Resource.String(), r.Subresource, statusCodeOf(err), time.Since(start))
		}

		v := verdict(err)
		if sent && (v == lost || v == doubtful) {
			a.unknown = start.Add(timeout + settleMargin)
		}

		short := err != nil && r.Method != http.MethodGet && w.Outlast != nil && timeout < w.Timeout &&
			time.Since(start) >= timeout-timeoutSlack
		if short {
			w.slow.note(r, true)
		}
		if short && r.Once && time.Now().Before(again) {
			// The time that the Lease leaves was too short: what a webhook is said to have failed by then is no answer either.
			a.repeated = a.repeated || sent && v != definite
			outlasting = true
			w.log.V(2).Info("The lease left too little time for a write, sending it again with the time that the API server allows",
				"request", r.String(), "err", err, "after", timeout)
			continue
		}

		if short && !r.Once && r.Name != "" {
			return a, err // it would be again; the key's next sync may demand the object's UID
		}

		wait := time.Duration(0)
		switch v {
		case definite:
			if outlasting && err == nil {
				w.slow.note(r, time.Since(start) >= left)
			}
			a.body = body
			return a, err
		case doubtful:
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
			if !sent && !a.repeated || !r.Once && r.Method != http.MethodGet {
				return a, err // nothing was written, or it would perhaps be twice: the key's own backoff does
			}
			a.repeated = a.repeated || sent
			wait = backoff
		}

		wait = wait/2 + rand.N(wait/2+1)
		if time.Now().Add(wait).After(again) {
			return a, err // the key's own backoff goes on, and its worker is free
		}

		tracing.From(ctx).Event("sent again", time.Now(), "", "")
		w.log.V(2).Info("No definite answer, sending the request again", "request", r.String(), "err", err, "after", wait)
		timer := time.NewTimer(wait)
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

// refuseRevoked refuses to send what a version writes that was turned off, whose rights have changed, or that has
// failed its trial.
func (w *Writer) refuseRevoked(r *apiserver.Request) error {
	if r.Method != http.MethodGet && w.revoked.Load() {
		return fmt.Errorf("%s: not sent: this version of plugin %s was turned off or replaced, or its rights have "+
			"changed: it may no longer write", r, w.Plugin)
	}
	return nil
}

// sendWrite sends a write and counts it. Where its end isn't known in the end, what it is recognised by stays with the
// key.
func (s *Session) sendWrite(ctx context.Context, e *abi.Effect, r *apiserver.Request, m *mark) (answer, error) {
	if err := s.w.refuseRevoked(r); err != nil {
		return answer{}, err
	}
	if e.DryRun {
		r.Once = true
		a, err := s.w.send(ctx, r, s.again)
		s.reportWrite(e, r, a, err)
		return a, err
	}

	verb := r.Verb
	if e.Kind == abi.EffectEvict {
		verb = "delete"
	}
	if err := s.holdBack(verb, r.Resource, r.Namespace, m); err != nil {
		return answer{}, err
	}

	s.writes.Add(1)
	r.Once, r.OfOne = m.once, m.isOfOne()
	a, err := s.w.send(ctx, r, s.again)
	s.reportWrite(e, r, a, err)
	switch {
	case err == nil, verb != "create" && isStale(err):
		s.settled(r.Resource, r.Namespace, m.name)
	case !a.unknown.IsZero():
		s.keep(verb, r.Resource, r.Namespace, m, a.unknown)
		if !m.once && m.version != "" {
			s.awaitNewer(objectKey{resource: r.Resource, namespace: r.Namespace, name: r.Name}, m.version)
		}
	}
	return a, err
}
