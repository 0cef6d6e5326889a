package server

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
)

// However many connections somebody opens, probes are answered, and who has shown who he is keeps his.
func TestProbesHavePlaces(t *testing.T) {
	w := startServer(t, Options{})
	if status, _ := get(t, w.client, w.url+"/configz"); status != http.StatusOK {
		t.Fatal(status)
	}

	roots := x509.NewCertPool()
	roots.AddCert(w.Certificate().Leaf)
	open := func(n int) {
		t.Helper()
		c, err := net.Dial("tcp", w.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		switch n % 3 { // others say nothing at all
		case 0: // idle after a handshake
			if err := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}).Handshake(); err != nil {
				t.Fatal(err)
			}
		case 1: // in the middle of a request
			s := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
			if _, err := io.WriteString(s, "GET /livez HTTP/1.1\r\nHost: x\r\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 2 * connectionsMax {
		open(n)
		if n%100 != 99 {
			continue
		}
		probe := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots},
			DisableKeepAlives: true}}
		if status, text := get(t, probe, w.url+"/livez"); status != http.StatusOK {
			t.Fatalf("with %d connections: %d %s", n+1, status, text)
		}
	}

	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
	ctx := httptrace.WithClientTrace(t.Context(), trace)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/configz", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK || !reused {
		t.Errorf("%d, over the connection of before: %v", a.StatusCode, reused)
	}
}

// Those who are known have most of the places, and no more.
func TestKnownPlaces(t *testing.T) {
	p := &places{all: map[net.Conn]*place{}}
	enter := func() *place {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close(); there.Close() })
		return p.enter(t.Context(), here).Value(placeKey{}).(*place)
	}
	stranger := enter()
	var known []*place
	for range knownMax {
		x := enter()
		if !p.know(x) {
			t.Fatalf("there is no place for the user %d", len(known))
		}
		known = append(known, x)
	}
	if p.know(enter()) {
		t.Error("there is a place for another user, though all have requests in flight")
	}
	p.follow(known[5].conn, http.StateIdle)
	if !p.know(enter()) || p.all[known[5].conn] != nil {
		t.Error("an idle connection wasn't closed for another user's")
	}

	for range connectionsMax {
		enter()
	}
	if len(p.all) != connectionsMax || p.all[stranger.conn] != nil || p.all[known[0].conn] == nil {
		t.Errorf("%d connections; the first stranger's is among them: %v", len(p.all), p.all[stranger.conn] != nil)
	}
}
