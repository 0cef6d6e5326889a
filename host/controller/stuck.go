package controller

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What holds a key up.
const (
	Failing = "failing" // its last sync failed; it is tried again
	// as often as the controller tries: it isn't tried again until something wakes it, or a resync does
	GivenUp = "given up"
	// the sandbox gave up its last sync of a built-in controller, or that was refused: it is tried again seldom
	SetAside = "set aside"
	Deferred = "deferred" // the plugin's budget of deletes is used up
	// the cache doesn't show yet what its syncs wrote, or many keys of its namespace wait for the API server
	Parked   = "parked"
	Syncing  = "syncing"  // its sync takes long
	Restless = "restless" // its syncs write nothing and ask for the next one at once, again and again: it is slowed down
	// nobody knows yet whether a write of an earlier sync was done; else it is well
	Unsettled = "unsettled"
	Waiting   = "waiting" // it is done, and its last sync asked for another one at a time
)

// Stuck is a key that isn't done.
type Stuck struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// State is one of the constants above.
	State string `json:"state"`
	// Result is how the last sync ended, as the metrics count it; Error says why.
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
	// Tries is how many syncs in a row ended so, the first of them at Since, the last at Last.
	Tries int       `json:"tries,omitempty"`
	Since time.Time `json:"since"`
	Last  time.Time `json:"last,omitzero"`
	// Next is when it is tried again, zero if not by itself.
	Next time.Time `json:"next,omitzero"`
	// WaitsFor is what the cache doesn't show yet, the request that the API server hasn't answered, or which of the key's
	// writes nobody knows to be done or not.
	WaitsFor []string `json:"waitsFor,omitempty"`
}

// Problem is the last failure of a controller's syncs.
type Problem struct {
	Time   time.Time `json:"time"`
	Key    string    `json:"key"`
	Result string    `json:"result"`
	Error  string    `json:"error"`
}

const (
	stuckMost  = 1000    // keys that are remembered of a controller
	stuckText  = 2 << 10 // bytes of an error
	syncingMin = time.Second
)

// stuck remembers which keys' last syncs didn't do. A sync that did, of a controller without such keys, costs a look at
// a number.
type stuck struct {
	count atomic.Int32

	mu   sync.Mutex
	keys map[Key]*Stuck
	last *Problem
}

// markDone forgets a key whose sync did.
func (s *stuck) markDone(k Key) {
	if s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, k)
	s.count.Store(int32(len(s.keys)))
}

// markHeld notes a key whose last sync didn't do, in which state it is now, and after how long it is tried again; 0:
// not by itself.
func (s *stuck) markHeld(k Key, state, result string, err error, after time.Duration) {
	now := time.Now()
	text := ""
	if err != nil {
		text = strings.Clone(truncate(err.Error())) // what a guest says lies in memory that its next answer takes
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if state != Deferred && state != Parked && !apierrors.IsConflict(err) { // those are everyday
		s.last = &Problem{Time: now, Key: k.String(), Result: result, Error: text}
	}

	x := s.keys[k]
	if x == nil {
		if len(s.keys) == stuckMost {
			return // the log has it
		}
		if s.keys == nil {
			s.keys = map[Key]*Stuck{}
		}
		x = &Stuck{Key: k.String(), Since: now}
		s.keys[k] = x
		s.count.Store(int32(len(s.keys)))
	}

	x.State, x.Result, x.Error, x.Last, x.Next = state, result, text, now, time.Time{}
	x.Tries++
	if after > 0 {
		x.Next = now.Add(after)
	}
}

// givenUp returns the keys that are tried no more.
func (s *stuck) givenUp() (keys []Key) {
	if s.count.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, x := range s.keys {
		if x.State == GivenUp {
			keys = append(keys, k)
		}
	}
	return keys
}

// comesBack reports whether a key whose last sync didn't do comes back at a time.
func (s *stuck) comesBack(k Key) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.keys[k]
	return x != nil && !x.Next.IsZero()
}

func truncate(s string) string {
	if len(s) > stuckText {
		return strings.ToValidUTF8(s[:stuckText], "") + "…"
	}
	return s
}

// Stuck reports which of the controller's keys aren't done, those that have waited longest first: at most so many of
// those that match, and how many match. No more than a thousand failing keys are remembered.
func (c *Controller) Stuck(match func(key string) bool, most int) (keys []Stuck, all int) {
	v := c.Current()
	open := v.Writer.UnsettledKeys()
	for k, held := range c.stuck.all() {
		delete(open, k)
		held.WaitsFor = v.Writer.Unsettled(k)
		keys = append(keys, held)
	}

	for k, since := range open {
		keys = append(keys, Stuck{Key: k.String(), State: Unsettled, Since: since, WaitsFor: v.Writer.Unsettled(k)})
	}
	parked, _ := v.Writer.Parked(stuckMost)
	for _, p := range parked {
		keys = append(keys, Stuck{Key: p.Key.String(), State: Parked, Since: p.Since, WaitsFor: p.For})
	}
	for k, since := range c.awaited.Held() {
		keys = append(keys, Stuck{Key: k.String(), State: Parked, Since: since, WaitsFor: []string{othersWait}})
	}
	keys = append(keys, c.syncingFor(syncingMin)...)
	keys = append(keys, c.slowedKeys()...)

	keys = slices.DeleteFunc(keys, func(k Stuck) bool { return !match(k.Key) })
	slices.SortFunc(keys, func(a, b Stuck) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Key, b.Key)) })
	all = len(keys)
	keys = keys[:min(all, most)]
	for i := range keys {
		keys[i].Controller = c.name
	}
	return keys, all
}

// all returns the keys that are remembered, as they are now.
func (s *stuck) all() map[Key]Stuck {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[Key]Stuck, len(s.keys))
	for k, x := range s.keys {
		all[k] = *x
	}
	return all
}

// timed returns the keys that have a timer.
func (c *Controller) timed() (keys []Stuck) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, r := range c.keys.of {
		if t := r.timer; t != nil {
			keys = append(keys, Stuck{Controller: c.name, Key: k.String(), State: Waiting, Since: t.set, Next: t.due})
		}
	}
	return keys
}

// Waiting returns the keys that nothing holds up and that wait for the time that their last sync asked for, the next
// first: at most so many of those that match, and how many match.
func (c *Controller) Waiting(match func(key string) bool, most int) (keys []Stuck, all int) {
	keys = c.timed()
	held := map[string]bool{}
	for k := range c.stuck.all() {
		held[k.String()] = true
	}
	keys = slices.DeleteFunc(keys, func(k Stuck) bool { return held[k.Key] || !match(k.Key) })
	slices.SortFunc(keys, func(a, b Stuck) int { return cmp.Or(a.Next.Compare(b.Next), strings.Compare(a.Key, b.Key)) })
	all = len(keys)
	return keys[:min(all, most)], all
}

// StuckCount is how many keys' last syncs failed or were put off, and how many keys are parked. oldest is the key that
// has been failing for longest, nil if none is.
func (c *Controller) StuckCount() (failing, parked int, oldest *Stuck) {
	_, parked = c.Current().Writer.Parked(0)
	parked += len(c.awaited.Held())
	if c.stuck.count.Load() == 0 {
		return 0, parked, nil
	}
	c.stuck.mu.Lock()
	defer c.stuck.mu.Unlock()
	failing = len(c.stuck.keys)
	for _, x := range c.stuck.keys {
		if x.State == Parked {
			failing, parked = failing-1, parked+1
			continue
		}
		if oldest == nil || x.Since.Before(oldest.Since) {
			oldest = x
		}
	}
	if oldest != nil {
		copied := *oldest
		copied.Controller = c.name
		oldest = &copied
	}
	return failing, parked, oldest
}

// LastProblem is the last failure, nil if there was none.
func (c *Controller) LastProblem() *Problem {
	c.stuck.mu.Lock()
	defer c.stuck.mu.Unlock()
	return c.stuck.last
}

// Syncing is how many keys are being synced.
func (c *Controller) Syncing() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys.syncing
}
