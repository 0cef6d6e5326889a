// Package faults stands between a client and the API server, as a bad network would.
package faults

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Faults are what goes wrong with the requests of the clients they wrap. They may be changed while clients run.
type Faults struct {
	// WatchDelay holds back what watches deliver; the order stays.
	WatchDelay atomic.Int64 // nanoseconds
	// WatchHeld holds back all of it until it is false again.
	WatchHeld atomic.Bool
	// Holds reports of a watch that WatchHeld holds back; by default it holds all.
	Holds func(*http.Request) bool
	// Before reports of a request that never reaches the server.
	Before func(*http.Request) bool
	// After reports of a request that the server has done, and whose answer is lost.
	After func(*http.Request) bool

	// Refuse reports of a request that the server answers with an internal error, and doesn't do.
	Refuse func(*http.Request) bool

	// Lost counts the requests and answers that were lost.
	Lost atomic.Int64
	// Refused counts the requests that were refused.
	Refused atomic.Int64
}

// ErrLost is what a client sees of a lost request or answer: it can't tell which.
var ErrLost = errors.New("connection reset by a test")

// Wrap puts the faults into a client configuration.
func (f *Faults) Wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{f, next} })
}

type transport struct {
	*Faults
	next http.RoundTripper
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	write := r.Method != http.MethodGet
	if write && t.Before != nil && t.Before(r) {
		t.Lost.Add(1)
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, ErrLost
	}

	if write && t.Refuse != nil && t.Refuse(r) {
		t.Refused.Add(1)
		return refusal(r), nil
	}

	a, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if write && t.After != nil && t.After(r) {
		t.Lost.Add(1)
		_, _ = io.Copy(io.Discard, a.Body) // the server is done
		a.Body.Close()
		return nil, ErrLost
	}
	if strings.Contains(r.URL.RawQuery, "watch=") {
		held := &t.WatchHeld
		if t.Holds != nil && !t.Holds(r) {
			held = new(atomic.Bool)
		}
		a.Body = newDelayed(a.Body, &t.WatchDelay, held)
	}
	return a, nil
}

// refusal is the answer to a request that is refused.
func refusal(r *http.Request) *http.Response {
	if r.Body != nil {
		r.Body.Close()
	}
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused by a test","reason":"InternalError","code":500}`
	return &http.Response{
		Status: "500 Internal Server Error", StatusCode: http.StatusInternalServerError, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(status)), ContentLength: int64(len(status)),
	}
}

// delayed gives what it reads some time later.
type delayed struct {
	body    io.ReadCloser
	held    *atomic.Bool
	mu      sync.Mutex
	changed *sync.Cond
	chunks  []chunk
	err     error
	closed  bool
}

const heldFor = 10 * time.Millisecond // until it is looked whether what is held back still is

type chunk struct {
	data []byte
	due  time.Time
}

func newDelayed(body io.ReadCloser, delay *atomic.Int64, held *atomic.Bool) *delayed {
	d := &delayed{body: body, held: held}
	d.changed = sync.NewCond(&d.mu)
	go func() {
		for {
			b := make([]byte, 32<<10)
			n, err := body.Read(b)
			d.mu.Lock()
			if n > 0 {
				d.chunks = append(d.chunks, chunk{b[:n], time.Now().Add(time.Duration(delay.Load()))})
			}
			d.err = err
			d.changed.Broadcast()
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return d
}

func (d *delayed) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()

	for {
		switch {
		case d.closed:
			return 0, io.ErrClosedPipe
		case len(d.chunks) > 0:
			wait := time.Until(d.chunks[0].due)
			if d.held.Load() {
				wait = max(wait, heldFor)
			}
			if wait <= 0 {
				n := copy(p, d.chunks[0].data)
				if d.chunks[0].data = d.chunks[0].data[n:]; len(d.chunks[0].data) == 0 {
					d.chunks = d.chunks[1:]
				}
				return n, nil
			}
			t := time.AfterFunc(wait, func() { // under the lock, or it could be missed
				d.mu.Lock()
				defer d.mu.Unlock()
				d.changed.Broadcast()
			})
			d.changed.Wait()
			t.Stop()
		case d.err != nil:
			return 0, d.err
		default:
			d.changed.Wait()
		}
	}
}

func (d *delayed) Close() error {
	d.mu.Lock()
	d.closed = true
	d.changed.Broadcast()
	d.mu.Unlock()
	return d.body.Close()
}
