package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/host/guard"
)

const (
	// connectionsMax bounds the connections that are open at once.
	connectionsMax = 256
	// knownMax bounds those of them over which somebody has shown who he is: the others are there for probes.
	knownMax = 224
)

// places bounds the connections that are open at once, so that there is always one for the next probe, which is
// anonymous: where all places are taken, the oldest connection goes over which nobody has shown who he is.
type places struct {
	mu  sync.Mutex
	all map[net.Conn]*place
}

// place is a connection's. The lock of the places guards it.
type place struct {
	conn  net.Conn
	known bool
	idle  bool
	since time.Time // when it was opened, or became idle
}

// placeKey is a request's context's, of its connection's place.
type placeKey struct{}

// enter is the server's ConnContext: it is called of each new connection.
func (p *places) enter(ctx context.Context, c net.Conn) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= connectionsMax {
		p.makeRoom(false)
	}
	x := &place{conn: c, since: time.Now()}
	p.all[c] = x
	return context.WithValue(ctx, placeKey{}, x)
}

// follow is the server's ConnState.
func (p *places) follow(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state {
	case http.StateActive:
		if x := p.all[c]; x != nil {
			x.idle = false
		}
	case http.StateIdle:
		if x := p.all[c]; x != nil {
			x.idle, x.since = true, time.Now()
		}
	case http.StateClosed, http.StateHijacked:
		delete(p.all, c)
	}
}

// makeRoom closes a connection: of those that are known the one that has been idle longest, of the others the oldest.
// It reports whether there was one.
func (p *places) makeRoom(known bool) bool {
	var out *place
	for _, x := range p.all {
		if x.known == known && (x.idle || !known) && (out == nil || x.since.Before(out.since)) {
			out = x
		}
	}
	if out == nil {
		return false
	}

	delete(p.all, out.conn)
	under := out.conn
	if t, ok := under.(*tls.Conn); ok {
		under = t.NetConn() // the other one would wait until its farewell is read
	}
	_ = under.Close()
	return true
}

// know takes note that somebody has shown who he is over a request's connection, and reports whether there is a place
// for that.
func (p *places) know(x *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x == nil || x.known {
		return true
	}
	n := 0
	for _, other := range p.all {
		if other.known {
			n++
		}
	}
	if n >= knownMax && !p.makeRoom(true) {
		return false
	}
	x.known = true
	return true
}

// handler notes over which connections requests come whose user the guard knows.
func (p *places) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, _ := r.Context().Value(placeKey{}).(*place)
		if guard.UserOf(r.Context()) != nil && !p.know(x) {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many connections of authenticated users have requests in flight: close some, or try again in a second",
				http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}
