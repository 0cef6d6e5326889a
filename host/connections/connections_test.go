package connections_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/host/connections"
)

// server counts its connections, and holds all requests until they are let go.
type server struct {
	*httptest.Server
	opened  atomic.Int64
	arrived chan struct{}
	hold    chan struct{}
}

func newServer(t *testing.T, http2 bool) *server {
	s := &server{arrived: make(chan struct{}, 1000), hold: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.arrived <- struct{}{}
		<-s.hold
	}))
	s.EnableHTTP2 = http2
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 100} // as the API server
	s.Config.ConnState = func(_ net.Conn, to http.ConnState) {
		if to == http.StateNew {
			s.opened.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// sendAtOnce sends so many requests at once.
func (s *server) sendAtOnce(t *testing.T, c *http.Client, n int) *sync.WaitGroup {
	var sent sync.WaitGroup
	for range n {
		sent.Go(func() {
			a, err := c.Get(s.URL)
			if err == nil {
				_, err = io.Copy(io.Discard, a.Body)
				err = errors.Join(err, a.Body.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	return &sent
}

func newClient(s *server) *http.Client {
	c := s.Client()
	c.Transport = connections.Share()(c.Transport)
	return c
}

// Requests at once open as many connections as they need.
func TestShare(t *testing.T) {
	s := newServer(t, true)
	c := newClient(s)
	sent := s.sendAtOnce(t, c, 60)
	for range 60 {
		<-s.arrived
	}
	if n := s.opened.Load(); n != 1 {
		t.Errorf("60 requests at once, and nothing is open: they opened %d connections, want 1", n)
	}
	more := s.sendAtOnce(t, c, 240)
	for range 240 {
		<-s.arrived // none waits for another one's end
	}
	if n := s.opened.Load(); n > 5 {
		t.Errorf("300 requests at once, of which 100 have room on a connection, have %d connections", n)
	}
	close(s.hold)
	sent.Wait()
	more.Wait()
	before := s.opened.Load()
	s.sendAtOnce(t, c, 300).Wait()
	if n := s.opened.Load(); n > before+2 {
		t.Errorf("300 requests at once opened %d connections though there were %d", n-before, before)
	}
}

// Without HTTP/2 each request has its own connection, as ever.
func TestHTTP1(t *testing.T) {
	s := newServer(t, false)
	sent := s.sendAtOnce(t, newClient(s), 150)
	for range 150 {
		<-s.arrived
	}
	close(s.hold)
	sent.Wait()
}

// Who waits for another one's connection stops waiting when its context ends, and when the other one fails opens one
// itself.
func TestWaiting(t *testing.T) {
	begun, fail := make(chan struct{}, 2), make(chan error)
	c := &http.Client{Transport: connections.Share()(trip(func(*http.Request) (*http.Response, error) {
		begun <- struct{}{}
		return nil, <-fail
	}))}

	get := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://example.com", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := c.Do(r)
			done <- err
		}()
		return done
	}

	first := get(t.Context())
	<-begun
	ctx, cancel := context.WithCancelCause(t.Context())
	second := get(ctx)
	mine := errors.New("enough")
	cancel(mine)
	if err := <-second; !errors.Is(err, mine) {
		t.Errorf("a request whose context ended while it waited: %v", err)
	}
	third := get(t.Context())
	fourth := get(t.Context())

	broken := errors.New("no route")
	for range 3 {
		fail <- broken
	}

	for _, x := range []chan error{first, third, fourth} {
		if err := <-x; !errors.Is(err, broken) {
			t.Errorf("a request whose connection couldn't be opened: %v", err)
		}
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
