package leader

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/windlass-dev/windlass/host/process/guardian/will"
)

// Client returns a client for writes of the Lease's controllers: what it sends, it sends while the Lease is held, and
// with timeout=. Its connections are those of the Lease.
func (l *Lease) Client(c *rest.Config) (*http.Client, error) {
	t, err := c.TransportConfig()
	if err != nil {
		return nil, err
	}
	t.DialHolder = l.conns.dialing(t.DialHolder)
	t.WrapTransport = transport.Wrappers(func(next http.RoundTripper) http.RoundTripper { return &bounded{next, l} },
		t.WrapTransport)
	r, err := transport.New(t)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: r, Timeout: c.Timeout}, nil
}

// bounded bounds each request that writes. It is the innermost wrapper, so that it is asked after all waiting: for rate
// limits, tokens and connections.
type bounded struct {
	next  http.RoundTripper
	lease *Lease
}

// WrappedRoundTripper is for client-go, which looks for what it knows of.
func (b *bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	left, err := b.lease.fence.timeLeft()
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	if r.Method == http.MethodGet {
		return b.next.RoundTrip(r)
	}
	if outlasts(r.Context()) {
		left = max(left, outlastMax)
	}
	r, off := b.lease.conns.followWrite(r)
	defer off()
	over, open := b.lease.pending.beginWrite(left)
	if !open {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, ErrNotLeader
	}
	a, err := b.next.RoundTrip(withTimeout(r, left))
	over(err == nil)
	return a, err
}

// outlastMax is how long the API server takes at most for a write of one object (requestTimeoutUpperBound in apiserver
// pkg/endpoints/handlers/rest.go).
const outlastMax = 34 * time.Second

type outlastKey struct{}

// Outlast marks a write as one that may be done though the Lease is another's by then: it is sent while the Lease is
// held, as all are, but has the time that the API server allows. It must not be possible to do it twice: it has a name,
// a version or a UID.
func Outlast(ctx context.Context) context.Context { return context.WithValue(ctx, outlastKey{}, true) }

func outlasts(ctx context.Context) bool { return ctx.Value(outlastKey{}) != nil }

// pending counts writes that the server may still be doing: those in flight, and for as long as they may take those
// whose answers were lost.
type pending struct {
	will *will.Will // counts them, too

	mu     sync.Mutex
	writes map[*time.Time]struct{} // by when they are over at the latest
	closed bool                    // no further one begins
	idle   chan struct{}           // closed when it is closed and there are none
}

// beginWrite counts a write until it is answered, or as long as it may take; false if none may begin.
func (p *pending) beginWrite(most time.Duration) (over func(answered bool), open bool) {
	until := time.Now().Add(most)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	if p.writes == nil {
		p.writes = map[*time.Time]struct{}{}
	}
	p.writes[&until] = struct{}{}
	p.will.Begin()
	return func(answered bool) {
		if left := time.Until(until); !answered && left > 0 {
			p.will.End(left)
			time.AfterFunc(left, func() { p.endWrite(&until) })
			return
		}
		p.will.End(0)
		p.endWrite(&until)
	}, true
}

func (p *pending) endWrite(w *time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writes, w)
	if p.closed && len(p.writes) == 0 {
		close(p.idle)
	}
}

// close has no further write begin, and returns what is closed when those that have begun are done.
func (p *pending) close() (idle <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.idle = true, make(chan struct{})
	if len(p.writes) == 0 {
		close(p.idle)
	}
	return p.idle
}

// closeAndWait has no further write begin, and waits some time for those that have.
func (p *pending) closeAndWait(most time.Duration) {
	idle := p.close()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

func (p *pending) countWrites() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.writes)
}

// withTimeout has the server give the request up after so long at most.
func withTimeout(r *http.Request, most time.Duration) *http.Request {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return r // the server refuses it
	}
	if d, err := time.ParseDuration(query.Get("timeout")); err == nil && d > 0 && d <= most {
		return r
	}
	query.Set("timeout", most.Round(time.Millisecond).String())
	r = r.Clone(r.Context())
	r.URL.RawQuery = query.Encode()
	return r
}

// conns are the connections of a Lease's clients.
type conns struct {
	fence *fence
	late  time.Duration
	will  *will.Will // keeps them, too

	mu     sync.Mutex
	open   map[*conn]struct{}
	shared *transport.DialHolder // of all clients that dial as client-go does: they share connections
}

func newConns(f *fence, late time.Duration, w *will.Will) *conns {
	c := &conns{fence: f, late: late, will: w, open: map[*conn]struct{}{}}
	c.shared = &transport.DialHolder{Dial: c.wrapDial((&net.Dialer{Timeout: 30 * time.Second,
		KeepAlive: 30 * time.Second}).DialContext)}
	return c
}

func (c *conns) dialing(d *transport.DialHolder) *transport.DialHolder {
	if d == nil {
		return c.shared
	}
	return &transport.DialHolder{Dial: c.wrapDial(d.Dial)}
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

func (c *conns) wrapDial(next dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		to, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		dropLate(to, c.late)
		x := &conn{Conn: to, conns: c, gone: c.will.Keep(to)}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[x] = struct{}{}
		return x, nil
	}
}

// dropAll closes all connections: what the kernel holds of them is dropped, and the server sees that nobody waits for
// its answers.
func (c *conns) dropAll() {
	c.mu.Lock()
	all := make([]*conn, 0, len(c.open))
	for x := range c.open {
		all = append(all, x)
	}
	c.mu.Unlock()
	for _, x := range all {
		x.dropUnsent()
	}
}

// conn is a connection on which nothing is sent without the Lease.
type conn struct {
	net.Conn
	conns  *conns
	gone   func(lost time.Duration) // tells the will
	writes atomic.Int64             // that are under way on it
}

// followWrite has the connections know which of them a write is under way on, until off is called.
func (c *conns) followWrite(r *http.Request) (traced *http.Request, off func()) {
	if c.will == nil {
		return r, func() {}
	}
	var at atomic.Pointer[conn]
	move := func(to *conn) {
		if to != nil {
			to.writes.Add(1)
		}
		if from := at.Swap(to); from != nil {
			from.writes.Add(-1) // what is sent again on another one wasn't done
		}
	}
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { move(innermostConn(i.Conn)) }}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace)), func() { move(nil) }
}

// innermostConn returns the connection of this package that a connection goes through; nil: none.
func innermostConn(c net.Conn) *conn {
	for {
		switch x := c.(type) {
		case *conn:
			return x
		case interface{ NetConn() net.Conn }:
			c = x.NetConn()
		default:
			return nil
		}
	}
}

// Write is where bytes leave the process: the last place to look at the clock.
func (c *conn) Write(b []byte) (int, error) {
	if _, err := c.conns.fence.timeLeft(); err != nil {
		c.dropUnsent()
		return 0, err
	}
	return c.Conn.Write(b)
}

// dropUnsent closes the connection without sending what the kernel still holds of it.
func (c *conn) dropUnsent() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		disconnect(tcp)
	}
	_ = c.Close()
}

func (c *conn) Close() error {
	c.conns.mu.Lock()
	delete(c.conns.open, c)
	c.conns.mu.Unlock()
	if tcp, ok := c.Conn.(*net.TCPConn); ok { // a guardian has it open, too
		_ = tcp.CloseWrite()
	}
	err := c.Conn.Close()
	if c.writes.Load() > 0 {
		c.gone(c.conns.fence.lasts)
	} else {
		c.gone(0)
	}
	return err
}
