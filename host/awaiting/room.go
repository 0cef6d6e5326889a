package awaiting

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/abi"
)

// ErrEnded is the cause of a request's end that has waited for long while too many others did.
var ErrEnded = errors.New("the API server hasn't answered for long, and too many syncs wait for it: " +
	"the key is tried again after its back-off")

// endedMin is how long a request has waited at least that is ended for others: one whose answer comes late, through
// several slow webhooks in a row, must have it some time.
const endedMin = 20 * time.Second

const (
	// slowFor is for how long a namespace is slow after a sync of it has waited for long.
	slowFor = time.Minute
	// severalSlow is how many namespaces are slow where any further one may be.
	severalSlow = 3
)

// Room is for those syncs of a controller that have given their workers back. It bounds how many there are.
type Room struct {
	// Most returns how many syncs may wait without a worker; those of one namespace, or of one key outside of namespaces,
	// may be half as many. If one more does, that which has waited for longest is ended; of a namespace that has its half,
	// no further sync begins.
	Most func() int
	// Left is called when a sync has given its worker back, Back when it ends.
	Left, Back func()
	// Wake is called with a key that was held and may begin now.
	Wake func(key abi.KeyRef)

	mu    sync.Mutex
	syncs []*Sync // all
	away  []*Sync // those without a worker, but for those one of whose waits was ended and that go on
	ended int
	slow  map[abi.KeyRef]time.Time // shares that are slow, and until when
	// held are the keys that may not begin, by their share, and since when
	held map[abi.KeyRef]map[abi.KeyRef]time.Time
}

// Sync returns the syncs of a new worker, until it calls Close.
func (r *Room) Sync() *Sync {
	s := &Sync{room: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.syncs = append(r.syncs, s)
	return s
}

// Close says that the worker has ended.
func (s *Sync) Close() {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.syncs = slices.DeleteFunc(r.syncs, func(x *Sync) bool { return x == s })
}

// Admit reports whether a sync of the key may begin. If not, because its namespace has its half of the room, or slow
// namespaces have theirs, the key is woken as soon as there is a place.
func (r *Room) Admit(key abi.KeyRef) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.away) == 0 && len(r.slow) == 0 {
		return true
	}
	of := share(key)
	if r.admits(of) && (!r.isSlow(key) || r.slowAdmitted()) {
		return true
	}

	if r.held == nil {
		r.held = map[abi.KeyRef]map[abi.KeyRef]time.Time{}
	}
	if r.held[of] == nil {
		r.held[of] = map[abi.KeyRef]time.Time{}
	}
	if _, ok := r.held[of][key]; !ok {
		r.held[of][key] = time.Now()
	}
	return false
}

// admits reports whether a share has less than its half of the room; syncs of a slow namespace count from their
// beginning. The caller holds mu.
func (r *Room) admits(of abi.KeyRef) bool {
	if !r.isSlow(of) {
		return r.awayOf(of) < r.half()
	}
	return r.running(func(key abi.KeyRef) bool { return share(key) == of }) < r.half()
}

// slowAdmitted reports whether slow namespaces have less than three quarters of the room. The caller holds mu.
func (r *Room) slowAdmitted() bool {
	return r.running(r.isSlow) < max(r.Most()*3/4, 1)
}

// running returns how many syncs of some keys run, but for those one of whose waits was ended. The caller holds mu.
func (r *Room) running(of func(abi.KeyRef) bool) (n int) {
	for _, x := range r.syncs {
		if !x.began.IsZero() && (x.listed || !x.away) && of(x.key) {
			n++
		}
	}
	return n
}

// noteSlow notes that a sync of the key has waited for long. The caller holds mu.
func (r *Room) noteSlow(key abi.KeyRef, now time.Time) {
	if r.slow == nil {
		r.slow = map[abi.KeyRef]time.Time{}
	}
	r.slow[share(key)] = now.Add(slowFor)
}

// forgetSlow forgets those that aren't slow any longer. The caller holds mu.
func (r *Room) forgetSlow(now time.Time) {
	maps.DeleteFunc(r.slow, func(_ abi.KeyRef, until time.Time) bool { return !now.Before(until) })
}

// isSlow reports whether a key's share is slow. The caller holds mu.
func (r *Room) isSlow(key abi.KeyRef) bool {
	until, ok := r.slow[share(key)]
	return ok && time.Now().Before(until)
}

// awayOf returns how many syncs of a share are away. The caller holds mu.
func (r *Room) awayOf(of abi.KeyRef) (n int) {
	for _, x := range r.away {
		if share(x.key) == of {
			n++
		}
	}
	return n
}

// hasKin reports whether a sync is away whose key is of the same namespace, or as this one of none. The caller holds
// mu.
func (r *Room) hasKin(key abi.KeyRef) bool {
	return slices.ContainsFunc(r.away, func(x *Sync) bool { return x.key.Namespace == key.Namespace })
}

func (r *Room) half() int { return max(r.Most()/2, 1) }

// makeRoom ends the wait of another sync where there are too many. It returns after how long there may be room, 0 if
// there is. The caller holds mu.
func (r *Room) makeRoom(s *Sync, now time.Time) (later time.Duration) {
	ofShare := r.awayOf(share(s.key)) >= r.half()
	if !ofShare && len(r.away) < r.Most() {
		return 0
	}

	var longest *Request
	for _, x := range r.away {
		if ofShare && share(x.key) != share(s.key) {
			continue
		}
		if q := x.oldest(); q != nil && (longest == nil || q.since.Before(longest.since)) {
			longest = q
		}
	}
	if longest == nil {
		return again // all of them are at work
	}
	if wait := endedMin - now.Sub(longest.since); wait > 0 {
		return wait
	}
	r.end(longest.sync)
	return 0
}

// share is whose keys share half of the room: a namespace's, or the key alone.
func share(k abi.KeyRef) abi.KeyRef {
	if k.Namespace != "" {
		return abi.KeyRef{Namespace: k.Namespace}
	}
	return k
}

// end ends what a sync waits for. It may go on, for instance to tell of that. The caller holds mu.
func (r *Room) end(s *Sync) {
	r.unlist(s)
	r.ended++
	s.since, s.waited, s.long = time.Time{}, 0, again
	for _, q := range s.open {
		if !q.since.IsZero() {
			q.ended = true
			q.cancel(ErrEnded)
		}
	}
}

// unlist takes a sync from those without a worker. The caller holds mu.
func (r *Room) unlist(s *Sync) {
	s.listed = false
	r.away = slices.DeleteFunc(r.away, func(x *Sync) bool { return x == s })
	r.wakeHeld(share(s.key))
}

// wakeHeld lets held keys have their turns for which there may be a place now, those of a share first. Each of them
// that has its turn lets others have theirs when it ends. The caller holds mu.
func (r *Room) wakeHeld(first abi.KeyRef) {
	if len(r.held) == 0 {
		return
	}
	places := r.Most()
	wake := func(of abi.KeyRef) {
		for key := range r.held[of] {
			if places == 0 {
				return
			}
			places--
			r.Wake(key)
			delete(r.held[of], key)
		}
		if len(r.held[of]) == 0 {
			delete(r.held, of)
		}
	}

	free := r.slowAdmitted()
	if r.admits(first) && (free || !r.isSlow(first)) {
		wake(first)
	}
	if !free {
		return
	}
	for of := range r.held {
		if r.admits(of) {
			wake(of)
		}
	}
}

// Held returns the keys that may not begin, and since when.
func (r *Room) Held() map[abi.KeyRef]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[abi.KeyRef]time.Time{}
	for _, keys := range r.held {
		maps.Copy(all, keys)
	}
	return all
}

// Away returns how many syncs have given their workers back, and how many were ended for others so far.
func (r *Room) Away() (now, ended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.syncs {
		if s.away {
			now++
		}
	}
	return now, r.ended
}

// Running is a sync that runs.
type Running struct {
	Key   abi.KeyRef
	Began time.Time
	// Request is what it has waited for longest, as "create pods shop/web-0", since Asked; empty: it doesn't wait.
	Request string
	Asked   time.Time
}

// Running returns the syncs that began so long ago.
func (r *Room) Running(least time.Duration) (all []Running) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.syncs {
		if s.began.IsZero() || now.Sub(s.began) < least {
			continue
		}
		x := Running{Key: s.key, Began: s.began}
		if q := s.oldest(); q != nil {
			x.Request, x.Asked = strings.Clone(q.what.String()), q.since // its names may be in a guest's memory
			if s.hidden {
				x.Request = withoutNames(x.Request)
			}
		}
		all = append(all, x)
	}
	return all
}

// withoutNames returns a request's verb and resource.
func withoutNames(request string) string {
	verb, rest, _ := strings.Cut(request, " ")
	resource, _, _ := strings.Cut(rest, " ")
	return verb + " " + resource
}
