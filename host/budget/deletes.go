// Package budget bounds what a plugin may do in a time, and how much memory it may hold.
package budget

import (
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

// Taker is a key of one of the plugin's controllers.
type Taker struct {
	Controller string
	Key        abi.KeyRef
}

// Deletes is how many deletes a plugin may send in any minute. Who finds none left is given a turn, in order of asking:
// it comes back after the wait that it is told, and finds its deletes kept for it. A nil Deletes, or a bound of 0, has
// no end.
type Deletes struct {
	mu    sync.Mutex
	now   func() time.Time
	spent []time.Time // a ring: when each of the minute's deletes was or will be sent
	next  int
	turns map[Taker]turn
}

type turn struct {
	deletes int
	at      time.Time
}

// window is what the bound is for; forget is after how long a turn that nobody takes is given up.
const (
	window = time.Minute
	forget = time.Minute
)

// NewDeletes makes the budget of a plugin.
func NewDeletes(perMinute int) *Deletes {
	d := &Deletes{now: time.Now, turns: map[Taker]turn{}}
	d.Set(perMinute)
	return d
}

// Set changes the bound. What was sent in the last minute counts. It tells whether the bound is another one: then who
// waits should ask again.
func (d *Deletes) Set(perMinute int) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if perMinute == len(d.spent) {
		return false
	}
	old := append(append([]time.Time(nil), d.spent[d.next:]...), d.spent[:d.next]...) // oldest first
	now := d.now()
	old = slices.DeleteFunc(old, func(at time.Time) bool { return at.After(now) })
	clear(d.turns)
	d.spent, d.next = make([]time.Time, perMinute), 0
	if len(old) > perMinute {
		old = old[len(old)-perMinute:]
	}
	copy(d.spent[perMinute-len(old):], old)
	return true
}

// Take asks for n deletes. It gives how many may be sent now, n or as many as a minute has, or how long to wait before
// asking again.
func (d *Deletes) Take(who Taker, n int) (allowed int, wait time.Duration) {
	if d == nil || n == 0 {
		return n, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.spent) == 0 {
		return n, 0
	}

	n = min(n, len(d.spent))
	now := d.now()
	t, waited := d.turns[who]
	if waited && t.deletes < n && !now.Before(t.at) {
		waited = false // it wants more than it waited for: what it has is lost, or it would pass the others
	}

	if !waited {
		t = turn{n, now}
		for i := range n {
			if free := d.spent[(d.next+i)%len(d.spent)].Add(window); free.After(t.at) {
				t.at = free
			}
		}
		for range n {
			d.spent[d.next] = t.at
			d.next = (d.next + 1) % len(d.spent)
		}
	}

	if wait := t.at.Sub(now); wait > 0 {
		d.turns[who] = t
		for k, old := range d.turns {
			if now.Sub(old.at) > forget {
				delete(d.turns, k)
			}
		}
		return 0, wait
	}

	delete(d.turns, who)
	return min(n, t.deletes), 0
}
