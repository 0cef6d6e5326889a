package awaiting

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

// A sync gives its worker back, until it ends, when it has waited for answers for the first of these, be it for one or
// for thousands of quick ones; when a wait of it was ended, half of the room is taken or several namespaces are slow,
// for the second: it will hardly be quicker; and for the third when one of its namespace waits, or has waited for long
// a while ago: its namespace is slow. To a key outside of namespaces each other such key is of its namespace while it
// waits; only that key alone is slow then.
const (
	Long  = 3 * time.Second
	again = 500 * time.Millisecond
	soon  = 50 * time.Millisecond
)

// Sync is the sync that a worker is at, one after another.
type Sync struct {
	room *Room

	// guarded by the room's mu
	key    abi.KeyRef
	began  time.Time // zero: none runs
	hidden bool      // names in its requests may be secrets
	open   []*Request
	since  time.Time     // since when some of them waits; zero: none does
	waited time.Duration // before that
	timer  *time.Timer
	armed  bool
	long   time.Duration // after which it gives its worker back
	away   bool          // it has
	listed bool          // it is among the room's
}

// Context returns the context of the worker's syncs, whose requests are counted.
func (s *Sync) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, syncKey{}, s)
}

// Begin begins the sync of a key. hidden is whether names in its requests may be secrets.
func (s *Sync) Begin(key abi.KeyRef, hidden bool) {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	now := time.Now()
	s.room.forgetSlow(now)
	s.key, s.began, s.hidden, s.long = key, now, hidden, Long
	switch r := s.room; {
	case r.hasKin(key) || r.isSlow(key):
		s.long = soon
	case len(r.away) >= r.half() || len(r.slow) >= severalSlow:
		s.long = again
	}
}

// End says that the sync has ended, as all its requests have before.
func (s *Sync) End() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	now := time.Now()
	if s.waitedFor(now) >= again {
		s.room.noteSlow(s.key, now)
	}
	of := share(s.key)
	s.key, s.began, s.since, s.waited = abi.KeyRef{}, time.Time{}, time.Time{}, 0
	if s.listed {
		s.room.unlist(s)
	}
	s.room.wakeHeld(of)
	if s.away {
		s.away = false
		s.room.Back()
	}
}

// waitedFor returns how long the sync has waited in all. The caller holds the room's mu.
func (s *Sync) waitedFor(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.waited
	}
	return s.waited + now.Sub(s.since)
}

// lookLater has the sync looked at when it may have waited for long. The caller holds the room's mu.
func (s *Sync) lookLater(now time.Time) {
	if s.armed || s.listed || s.since.IsZero() {
		return
	}
	s.armed = true
	wait := max(s.long-s.waitedFor(now), 0)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.look)
	} else {
		s.timer.Reset(wait)
	}
}

// look has the sync give its worker back if it has waited for long.
func (s *Sync) look() {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	s.armed = false
	now := time.Now()
	if s.since.IsZero() || s.listed {
		return
	}
	if s.waitedFor(now) < s.long {
		s.lookLater(now)
		return
	}

	if s.waitedFor(now) >= again {
		r.noteSlow(s.key, now)
	}
	if later := r.makeRoom(s, now); later > 0 {
		s.armed = true
		s.timer.Reset(later)
		return
	}
	r.away, s.listed = append(r.away, s), true
	if !s.away {
		s.away = true
		r.Left()
	}
}

// answered takes down how long the sync has waited, if none of its requests waits any more. The caller holds the room's
// mu.
func (s *Sync) answered(now time.Time) {
	if !s.since.IsZero() && s.oldest() == nil {
		s.waited, s.since = s.waitedFor(now), time.Time{}
	}
}

// oldest returns the request that waits for longest, nil where none does. The caller holds the room's mu.
func (s *Sync) oldest() (oldest *Request) {
	for _, q := range s.open {
		if !q.since.IsZero() && !q.ended && (oldest == nil || q.since.Before(oldest.since)) {
			oldest = q
		}
	}
	return oldest
}
