// Package connections has the requests to the API server open no more connections than they need.
package connections

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
)

// each is how many requests a new connection is trusted with at once. The API server allows 100, and HTTP/2's client
// learns that one is over a moment after its caller.
const each = 64

// Share makes a wrapper of transports whose requests wait for one another's connections. All that it wraps must lead to
// the same server.
//
// With net/http a request that finds no connection with room for one more opens one, and so does each that comes before
// that is done: two hundred at once have the one connection that there was, and a hundred others, each with a
// handshake, of which two are needed. Here one request opens a connection while the others wait, for that one or for
// those before them.
func Share() func(http.RoundTripper) http.RoundTripper {
	s := &shared{}
	return func(next http.RoundTripper) http.RoundTripper { return &sharing{next, s} }
}

// shared knows how many requests are under way, and how many there is room for.
type shared struct {
	mu       sync.Mutex
	underWay int
	promised int // of those, let in because there is room, and without a connection yet
	room     int
	opening  bool        // one is under way for which there may be no room: it may open a connection
	waiting  []chan bool // in order, while opening
}

// acquire waits until a request may be sent; opens is whether there may be no room for it. noteConnected must follow,
// then release.
func (s *shared) acquire(ctx context.Context) (opens bool, err error) {
	opens, turn := s.startOrQueue()
	if turn == nil {
		return opens, nil
	}
	select {
	case opens = <-turn:
		return opens, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, turn); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return false, context.Cause(ctx)
	}
	return <-turn, nil // its turn has come just now
}

// startOrQueue starts a request if one may be sent, else it returns where its turn will come.
func (s *shared) startOrQueue() (opens bool, turn chan bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 && s.maySend() {
		return s.startRequest(), nil
	}
	turn = make(chan bool, 1)
	s.waiting = append(s.waiting, turn)
	return false, turn
}

// noteConnected tells that a request has its connection, or has failed, and for how many more there is room now.
func (s *shared) noteConnected(opens bool, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if opens {
		s.opening = false
	} else {
		s.promised--
	}
	s.room += more
	s.admitWaiting()
}

func (s *shared) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay--; s.underWay == 0 {
		s.room = min(s.room, each) // connections may have ended since
	}
	s.admitWaiting()
}

// maySend reports whether one more request may be sent. One without room waits until all have what they were promised,
// or it would take it from them, and each of them would open a connection.
func (s *shared) maySend() bool { return s.underWay < s.room || !s.opening && s.promised == 0 }

// startRequest sends one more request.
func (s *shared) startRequest() (opens bool) {
	if opens = s.underWay >= s.room; opens {
		s.opening = true
	} else {
		s.promised++
	}
	s.underWay++
	return opens
}

// admitWaiting has those sent whose turn it is.
func (s *shared) admitWaiting() {
	for len(s.waiting) > 0 && s.maySend() {
		s.waiting[0] <- s.startRequest()
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
}

// sharing is a transport whose requests share connections.
type sharing struct {
	next http.RoundTripper
	*shared
}

// WrappedRoundTripper is for client-go, which looks for what it knows of.
func (s *sharing) WrappedRoundTripper() http.RoundTripper { return s.next }

func (s *sharing) RoundTrip(r *http.Request) (*http.Response, error) {
	opens, err := s.acquire(r.Context())
	if err != nil {
		if r.Body != nil {
			err = errors.Join(err, r.Body.Close())
		}
		return nil, err
	}

	var once sync.Once
	got := func(more int) { once.Do(func() { s.noteConnected(opens, more) }) }
	defer got(0) // if it got none
	r = r.WithContext(httptrace.WithClientTrace(r.Context(),
		&httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			switch {
			case !i.Reused:
				got(each)
			case opens:
				got(1) // there was room for this one, and perhaps for the next
			default:
				got(0)
			}
		}}))

	a, err := s.next.RoundTrip(r)
	if err != nil {
		s.release()
		return nil, err
	}

	a.Body = &body{ReadCloser: a.Body, leave: s.release}
	return a, nil
}

// body is an answer's, with whose end the request is over.
type body struct {
	io.ReadCloser
	leave func()
	over  atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.finishOnce()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.finishOnce()
	return b.ReadCloser.Close()
}

func (b *body) finishOnce() {
	if b.over.CompareAndSwap(false, true) {
		b.leave()
	}
}
