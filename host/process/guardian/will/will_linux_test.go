package will

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/process/guardian"
)

// testator is a manager's side, in a process that goes on.
func testator(t *testing.T) (*Will, guardian.Files) {
	t.Helper()
	f, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(f) })
	w, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return w, f
}

func readEstate(t *testing.T, f guardian.Files) *Estate {
	t.Helper()
	e, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// soon is a time until which nothing is waited for that comes.
func soon() time.Time { return time.Now().Add(time.Minute) }

func TestTestament(t *testing.T) {
	w, f := testator(t)
	if _, err := Read(f); err == nil {
		t.Error("read what wasn't written")
	}
	want := Testament{"me", "kube-system", []string{"a", "b"}, time.Second, time.Minute}
	if err := w.Leave(want); err != nil {
		t.Fatal(err)
	}
	e := readEstate(t, f)
	if got := e.Testament; got.Identity != want.Identity || got.Namespace != want.Namespace ||
		!slices.Equal(got.Leases, want.Leases) || got.Late != want.Late || got.Within != want.Within {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if n, err := e.Over(time.Time{}); n != 0 || err != nil {
		t.Errorf("nothing was under way: %d, %v", n, err)
	}
	if err := w.Leave(Testament{Leases: []string{strings.Repeat("x", pageSize)}}); err == nil {
		t.Error("left what has no room")
	}
	w.Settled()
	if _, err := Read(f); err == nil {
		t.Error("read what is settled")
	}
}

// api is a server that takes requests and never answers them.
type api struct {
	*httptest.Server
	came  chan struct{}
	given chan struct{} // up
}

func newServer(t *testing.T, http2 bool) *api {
	t.Helper()
	s := &api{came: make(chan struct{}, 100), given: make(chan struct{}, 100)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // HTTP/1.1 looks for a connection's end only behind it
		s.came <- struct{}{}
		<-r.Context().Done()
		s.given <- struct{}{}
	}))
	s.EnableHTTP2, s.Config.ErrorLog = http2, log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// sendWrites sends writes that stay under way; what it returns closes their connections.
func (s *api) sendWrites(t *testing.T, w *Will, writes int) (end func()) {
	t.Helper()
	over := s.Client().Transport.(*http.Transport).Clone()
	over.DisableCompression = true
	var mu sync.Mutex
	var all []func()
	over.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			gone := w.Keep(c)
			mu.Lock()
			all = append(all, func() { _ = c.(*net.TCPConn).CloseWrite(); c.Close(); gone(time.Hour) })
			mu.Unlock()
		}
		return c, err
	}

	client := &http.Client{Transport: over}
	for range writes {
		w.Begin()
		go func() {
			if r, err := client.Post(s.URL, "text/plain", strings.NewReader("x")); err == nil {
				r.Body.Close()
			}
		}()
	}

	for range writes {
		<-s.came
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range all {
			f()
		}
	}
}

// Writes that are under way are over when the server has given them up.
func TestUnderWay(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			w, f := testator(t)
			if err := w.Leave(Testament{Late: 10 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			s := newServer(t, http2)
			s.sendWrites(t, w, 5)
			began := time.Now()
			n, err := readEstate(t, f).Over(soon())
			if n != 5 || err != nil {
				t.Fatalf("%d writes: %v", n, err)
			}
			if took := time.Since(began); took < 10*time.Millisecond {
				t.Errorf("it took %v: less than a server may be late", took)
			}
			for given := range 5 { // each write, a moment after its connection's end
				select {
				case <-s.given:
				case <-time.After(time.Minute):
					t.Fatalf("%d were given up", given)
				}
			}
		})
	}
}

// Where it can't be known whether writes are under way, nobody says so.
func TestUnknown(t *testing.T) {
	const lastsForever = "i/o timeout"
	for name, c := range map[string]struct {
		do   func(t *testing.T, w *Will)
		want string
	}{
		"the answer was lost": {func(_ *testing.T, w *Will) { w.Begin(); w.End(time.Hour) },
			"responses to writes were lost, and the API server may still carry them out for"},
		"the connection was closed": {func(t *testing.T, w *Will) { newServer(t, true).sendWrites(t, w, 1)() },
			"responses to writes were lost"},
		"the connection has no descriptor": {func(_ *testing.T, w *Will) {
			one, _ := net.Pipe()
			w.Keep(one)
			w.Begin()
		}, "not all connections on which writes were sent are known"},
		"the server doesn't end the connection": {func(t *testing.T, w *Will) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}

			t.Cleanup(func() { l.Close() })
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			w.Keep(c)
			w.Begin()
		}, lastsForever},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := testator(t)
			if err := w.Leave(Testament{}); err != nil {
				t.Fatal(err)
			}
			c.do(t, w)
			until := soon()
			if c.want == lastsForever {
				until = time.Now().Add(50 * time.Millisecond)
			}
			if _, err := readEstate(t, f).Over(until); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Of a lost answer's write it is known after its time, and of an answered one at once.
func TestEnd(t *testing.T) {
	w, f := testator(t)
	if err := w.Leave(Testament{}); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []time.Duration{0, time.Millisecond} {
		w.Begin()
		w.End(lost)
		for until := time.Now().Add(time.Minute); ; {
			n, err := readEstate(t, f).Over(soon())
			if n == 0 && err == nil {
				break
			}
			if time.Now().After(until) || lost == 0 {
				t.Fatalf("lost for %v: %d, %v", lost, n, err)
			}
		}
	}
}

// The heir finds the connections that there were last, however they came and went.
func TestConnections(t *testing.T) {
	w, f := testator(t)
	if err := w.Leave(Testament{}); err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { l.Close() })
	var open []func(time.Duration)
	for i := range 100 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		gone := w.Keep(c)
		if i%3 == 0 {
			gone(0)
			gone(time.Hour) // closed twice
		} else {
			open = append(open, gone)
		}
	}

	for _, gone := range open[:40] {
		gone(0)
	}
	if e := readEstate(t, f); len(e.connections) != len(open)-40 || e.page.blind.Load() != 0 || e.page.doubt.Load() != 0 {
		t.Errorf("%d connections, want %d; blind: %d, doubt until %d", len(e.connections), len(open)-40, e.page.blind.Load(),
			e.page.doubt.Load())
	}
	if _, err := l.Accept(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// A process without a guardian leaves nothing.
func TestNone(t *testing.T) {
	var w *Will
	if err := w.Leave(Testament{}); err != nil {
		t.Error(err)
	}
	w.Begin()
	w.End(time.Hour)
	w.Keep(nil)(time.Hour)
	w.Settled()
}
