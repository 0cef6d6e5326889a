package awaiting

import (
	"context"
	"fmt"
	"time"
)

// Request is what a sync asks of the API server, until it has its answer: however often it is sent. It is the context
// that the request is sent under, whose cause says so where the wait was ended for others. Nil, of a sync that nobody
// counts, is allowed.
type Request struct {
	context.Context
	sync *Sync
	what fmt.Stringer

	// guarded by the room's mu
	cancel context.CancelCauseFunc
	since  time.Time // when it was sent first; zero: it has yet to be
	ended  bool      // cancelled: it doesn't wait for long any more
}

type (
	syncKey    struct{}
	requestKey struct{}
)

// Value is the context's.
func (q *Request) Value(key any) any {
	if _, ok := key.(requestKey); ok {
		return q
	}
	return q.Context.Value(key)
}

// Begin begins a request of the sync whose context it is given. what says in the status which request it is; it isn't
// asked after End. The caller must call End, also where it panics.
func Begin(ctx context.Context, what fmt.Stringer) (context.Context, *Request) {
	s, _ := ctx.Value(syncKey{}).(*Sync)
	if s == nil {
		return ctx, nil
	}
	q := &Request{sync: s, what: what}
	q.Context, q.cancel = context.WithCancelCause(ctx)
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.open = append(s.open, q)
	return q, q
}

// Sent says that the request of a context is sent: from now on it waits for the API server. What it has waited for
// before, for its turn at a rate limit, is its controller's own doing.
func Sent(ctx context.Context) {
	if q, ok := ctx.Value(requestKey{}).(*Request); ok {
		q.Sent()
	}
}

// Sent says that the request is sent.
func (q *Request) Sent() {
	if q == nil {
		return
	}
	q.sync.room.mu.Lock()
	defer q.sync.room.mu.Unlock()
	if q.since.IsZero() {
		q.since = time.Now()
		if q.sync.since.IsZero() {
			q.sync.since = q.since
		}
		q.sync.lookLater(q.since)
	}
}

// End says that the request has its answer, or is given up.
func (q *Request) End() {
	if q == nil {
		return
	}
	q.cancel(nil)
	s := q.sync
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	for i, open := range s.open {
		if open == q {
			last := len(s.open) - 1
			s.open[i], s.open[last] = s.open[last], nil
			s.open = s.open[:last]
			break
		}
	}
	s.answered(time.Now())
}
