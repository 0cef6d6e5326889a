package cache

import (
	"bufio"
	"context"
	"net"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Most of what a large cluster's watches bring concerns nobody: heartbeats, fields that no controller reads. To take
// each such event as it comes would wake half a dozen goroutines for it. So while much comes, and nothing that anybody
// is told of, reading pauses, and then takes all that has come meanwhile: of an event each millisecond, 0.06 reads an
// event and not 0.99 (BenchmarkHeartbeats).
const (
	few       = 25 * time.Millisecond  // what comes at this distance or a larger one isn't much
	many      = 8                      // so many reads more than that are
	quiet     = 250 * time.Millisecond // so long nobody has been told of anything
	pause     = 20 * time.Millisecond  // so late is, at most, the first event after that which somebody is told of
	readAhead = 64 << 10
)

// conn is the connection of the cache's streams.
type conn struct {
	net.Conn
	ahead *bufio.Reader // read by one goroutine, as net/http does
	told  *atomic.Int64 // when somebody was told of an event last, in nanoseconds
	last  time.Time     // of the last read's end
	much  time.Duration // how many reads there were lately, each as much as may be between few: a bucket that leaks
	sleep func(time.Duration)
}

func newConn(c net.Conn, told *atomic.Int64) *conn {
	x := &conn{Conn: c, told: told, sleep: time.Sleep}
	x.ahead = bufio.NewReaderSize(wire{x}, readAhead)
	return x
}

func (c *conn) Read(b []byte) (int, error) { return c.ahead.Read(b) }

// wire is what the connection reads ahead from.
type wire struct{ *conn }

func (w wire) Read(b []byte) (int, error) {
	if w.much >= many*few && time.Now().UnixNano()-w.told.Load() > int64(quiet) {
		w.sleep(pause)
	}
	n, err := w.Conn.Read(b)
	now := time.Now()
	// a list, which is held up by nothing
	if w.much = min(max(w.much-now.Sub(w.last), 0)+few, 2*many*few); n == readAhead {
		w.much = 0
	}
	w.last = now
	return n, err
}

// dialing has a client's connections read that way. They are its own: no answer to another client's request waits.
func dialing(c *rest.Config, told *atomic.Int64) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newConn(c, told), nil
	}
}
