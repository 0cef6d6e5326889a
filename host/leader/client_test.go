package leader

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// server takes note of the requests that reach it.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
	hold chan struct{} // while it is open no request is answered
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{hold: make(chan struct{})}
	close(s.hold)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
		hold := s.hold
		s.mu.Unlock()
		<-hold
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// newHeldLease returns a Lease that was taken just now, by clocks that stand still.
func newHeldLease(t *testing.T, s *server) (*Lease, *clocks, *http.Client) {
	t.Helper()
	config := &rest.Config{Host: s.URL}
	l, err := New(Options{Config: config, Namespace: "kube-system", Name: "x", Identity: "me", Duration: 15 * time.Second,
		RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c := &clocks{reading0}
	l.fence.read = c.read
	l.fence.noteRenewal(c.read())
	client, err := l.Client(config)
	if err != nil {
		t.Fatal(err)
	}
	return l, c, client
}

func request(t *testing.T, c *http.Client, method, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(r)
	if err == nil {
		a.Body.Close()
	}
	return err
}

func TestClient(t *testing.T) {
	s := newServer(t)
	l, c, client := newHeldLease(t, s)
	expect := func(method, path, want string) {
		t.Helper()
		if err := request(t, client, method, s.URL+path); err != nil {
			t.Fatal(err)
		}
		if seen := s.requests(); len(seen) != 1 || seen[0] != method+" "+want {
			t.Errorf("%s %s: the server saw %q, want %s", method, path, seen, want)
		}
	}
	expect("POST", "/api/v1/pods?fieldManager=m&timeout=30s", "/api/v1/pods?fieldManager=m&timeout=12s")
	expect("DELETE", "/api/v1/pods/a", "/api/v1/pods/a?timeout=12s")
	expect("PUT", "/api/v1/pods/a?timeout=5s", "/api/v1/pods/a?timeout=5s")
	expect("GET", "/api/v1/pods/a", "/api/v1/pods/a")
	c.advance(4500 * time.Millisecond)
	expect("PATCH", "/api/v1/pods/a?timeout=nonsense", "/api/v1/pods/a?timeout=7.5s")

	c.advance(time.Minute)
	for _, method := range []string{"POST", "GET"} {
		if err := request(t, client, method, s.URL); !errors.Is(err, errStale) {
			t.Errorf("stale: %v", err)
		}
	}
	l.fence.closeFence()
	if err := request(t, client, "POST", s.URL); !errors.Is(err, ErrNotLeader) {
		t.Errorf("lost: %v", err)
	}
	if seen := s.requests(); len(seen) > 0 {
		t.Errorf("the server saw %q", seen)
	}
}

// What waits on its way, as for a connection, is bounded by what is left after that.
func TestClientWaits(t *testing.T) {
	s := newServer(t)
	l, c, _ := newHeldLease(t, s)
	client, err := l.Client(&rest.Config{Host: s.URL, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			c.advance(3 * time.Second)
			return next.RoundTrip(r)
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := request(t, client, "POST", s.URL+"/api/v1/pods"); err != nil {
		t.Fatal(err)
	}
	if seen := s.requests(); len(seen) != 1 || seen[0] != "POST /api/v1/pods?timeout=9s" {
		t.Errorf("the server saw %q", seen)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request that was let through and comes to its connection too late isn't sent, and the connection ends.
func TestConnection(t *testing.T) {
	s := newServer(t)
	l, c, _ := newHeldLease(t, s)
	to, err := l.conns.shared.Dial(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write([]byte("POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}

	buffer := make([]byte, 1000)
	if _, err := to.Read(buffer); err != nil {
		t.Fatal(err)
	}

	c.advance(time.Minute)
	if _, err := to.Write([]byte("POST /second HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")); !errors.Is(err,
		errStale) {
		t.Errorf("wrote: %v", err)
	}
	if _, err := to.Read(buffer); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is open: %v", err)
	}
	if seen := s.requests(); len(seen) != 1 || seen[0] != "POST /first" {
		t.Errorf("the server saw %q", seen)
	}
	if len(l.conns.open) > 0 {
		t.Errorf("%d connections are remembered", len(l.conns.open))
	}
}

// Writes that were answered are over, others only when their time is.
func TestPending(t *testing.T) {
	s := newServer(t)
	l, _, client := newHeldLease(t, s)
	if err := request(t, client, "POST", s.URL); err != nil || l.pending.countWrites() != 0 {
		t.Fatalf("answered: %v, %d pending", err, l.pending.countWrites())
	}

	s.mu.Lock()
	s.hold = make(chan struct{})
	s.mu.Unlock()
	defer close(s.hold)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() {
		_, err := client.Do(r)
		ended <- err
	}()

	for len(s.requests()) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the server sees nothing")
		}
	}

	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || l.pending.countWrites() != 1 {
		t.Errorf("given up: %v, %d pending", err, l.pending.countWrites())
	}

	// What takes no longer than this is over by then.
	over, _ := l.pending.beginWrite(time.Millisecond)
	over(false)
	for l.pending.countWrites() != 1 {
		if t.Context().Err() != nil {
			t.Fatal("it is pending for ever")
		}
	}

	l.pending.closeAndWait(time.Millisecond)
	if err := request(t, client, "POST", s.URL); !errors.Is(err, ErrNotLeader) || l.pending.countWrites() != 1 {
		t.Errorf("closed: %v, %d pending", err, l.pending.countWrites())
	}
}

// A write that may outlast the Lease has the time that the API server allows, and counts as under way for so long; it
// is sent under the Lease as any other.
func TestOutlast(t *testing.T) {
	s := newServer(t)
	l, c, client := newHeldLease(t, s)
	send := func() error {
		r, err := http.NewRequestWithContext(Outlast(t.Context()), http.MethodPost, s.URL+"/x?timeout=34s",
			strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(r)
		if err == nil {
			a.Body.Close()
		}
		return err
	}

	if err := send(); err != nil {
		t.Fatal(err)
	}
	if got := s.requests(); len(got) != 1 || got[0] != "POST /x?timeout=34s" {
		t.Errorf("%q", got)
	}

	s.Close()
	if err := send(); err == nil || l.pending.countWrites() != 1 {
		t.Errorf("no answer: %v, %d under way", err, l.pending.countWrites())
	}
	for w := range l.pending.writes {
		if left := time.Until(*w); left < 30*time.Second {
			t.Errorf("it counts as under way for %v", left)
		}
	}

	c.advance(11 * time.Second)
	if err := send(); !errors.Is(err, errStale) {
		t.Errorf("without a renewal: %v", err)
	}
}
