package cache

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// feeder is a connection on which the next packet is always there.
type feeder struct {
	net.Conn
	packet int // bytes
}

func (f feeder) Read(b []byte) (int, error) { return min(f.packet, len(b)), nil }

// Reading pauses while packets come that nobody is told of, and only then.
func TestReadingPauses(t *testing.T) {
	for _, test := range []struct {
		name   string
		packet int
		told   time.Duration // ago
		want   bool
	}{
		{"nobody was told of anything", 1000, time.Hour, true},
		{"much has gathered in each pause", readAhead / 2, time.Hour, true},
		{"somebody has just been told", 1000, 0, false},
		{"a list", readAhead, time.Hour, false},
	} {
		synctest.Test(t, func(t *testing.T) { // whose clock stands still while anybody works
			var told atomic.Int64
			c := newConn(feeder{packet: test.packet}, &told)
			pauses := 0
			c.sleep = func(d time.Duration) {
				if d != pause {
					t.Errorf("a pause of %v", d)
				}
				pauses++
			}
			b := make([]byte, test.packet)
			for range 10 * many {
				told.Store(time.Now().Add(-test.told).UnixNano())
				if _, err := io.ReadFull(c, b); err != nil {
					t.Fatal(err)
				}
			}
			if got := pauses > 0; got != test.want {
				t.Errorf("%s: %d pauses", test.name, pauses)
			}
		})
	}
}

// What comes one by one, with time between, is read at once.
func TestReadingDoesNotPauseBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		c := newConn(ours, new(atomic.Int64))
		c.sleep = func(time.Duration) { t.Error("paused") }

		go func() {
			defer theirs.Close()
			for range 2 * many {
				time.Sleep(2 * few)
				if _, err := theirs.Write([]byte("event")); err != nil {
					return
				}
			}
		}()
		if _, err := io.ReadAll(c); err != nil {
			t.Fatal(err)
		}
	})
}

// counted counts the reads of a connection.
type counted struct {
	net.Conn
	reads int
}

func (c *counted) Read(b []byte) (int, error) {
	c.reads++
	return c.Conn.Read(b)
}

// BenchmarkHeartbeats is how often a connection is read for events that concern nobody, of which one comes each
// millisecond: with pauses, and as each comes. Each read wakes the goroutines behind it.
func BenchmarkHeartbeats(b *testing.B) {
	const events, size = 2000, 700
	for _, pausing := range []bool{true, false} {
		b.Run(fmt.Sprintf("pauses=%v", pausing), func(b *testing.B) {
			reads := 0
			for b.Loop() {
				server, client := loopback(b)
				go func() {
					tick := time.NewTicker(time.Millisecond)
					defer tick.Stop()
					for range events {
						<-tick.C
						_, _ = server.Write(make([]byte, size))
					}
				}()

				below := &counted{Conn: client}
				c := newConn(below, new(atomic.Int64)) // nobody was ever told of anything
				if !pausing {
					c.sleep = func(time.Duration) {}
				}
				if _, err := io.CopyN(io.Discard, c, events*size); err != nil {
					b.Fatal(err)
				}
				reads += below.reads
			}
			b.ReportMetric(float64(reads)/float64(b.N)/events, "reads/event")
		})
	}
}

// loopback returns both ends of a connection.
func loopback(b *testing.B) (server, client net.Conn) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.Close(); server.Close() })
	return server, client
}
