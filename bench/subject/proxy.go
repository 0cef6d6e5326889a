package subject

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// proxy passes TCP connections on and counts what comes back: bytes as they are on the wire, compressed and encrypted.
type proxy struct {
	listener net.Listener
	received atomic.Int64

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// startProxy starts a proxy to an address.
func startProxy(to string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, open: map[net.Conn]bool{}}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.forwardConnection(client, to)
		}
	}()
	return p, nil
}

// Address is where the proxy listens.
func (p *proxy) Address() string { return p.listener.Addr().String() }

func (p *proxy) forwardConnection(client net.Conn, to string) {
	defer p.untrackConnection(client)
	server, err := net.Dial("tcp", to)
	if err != nil {
		client.Close()
		return
	}

	defer p.untrackConnection(server)
	if !p.trackConnection(client) || !p.trackConnection(server) {
		return
	}

	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(server, client)
		server.Close()
	}()

	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		p.received.Add(int64(n))
		if _, werr := client.Write(buffer[:n]); err != nil || werr != nil {
			break
		}
	}

	client.Close()
	<-sent
}

func (p *proxy) trackConnection(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	return !p.closed
}

func (p *proxy) untrackConnection(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// Close ends the proxy with all its connections.
func (p *proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
}
