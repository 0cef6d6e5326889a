package cache

import (
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
