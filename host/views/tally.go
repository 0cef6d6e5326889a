package views

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/abi"
)

// tallies remembers which counts were delivered, so that an event wakes a key only when its capped count is no longer
// that.
//
// Comparing with what was delivered, not with the count before the event, is what makes it right when the caches are
// ahead of the events.
type tallies struct {
	mu   sync.Mutex
	keys map[abi.KeyRef][]tally // few for each key, and keys may be many
}

type tally struct {
	counted   bool // else nothing was delivered yet
	view      int32
	delivered int32 // capped; less than uncapped
	least     int32 // there are at least so many now
}

func (t *tallies) find(key abi.KeyRef, v *view) *tally {
	all := t.keys[key]
	for i := range all {
		if all[i].counted && int(all[i].view) == v.index {
			return &all[i]
		}
	}
	return nil
}

// beginCount forgets what the key was delivered before anything is counted anew: an event in between finds nothing to
// compare with, and wakes.
func (t *tallies) beginCount(p *Plan, key abi.KeyRef) { t.dropKey(key) }

func (t *tallies) dropKey(key abi.KeyRef) {
	t.mu.Lock()
	delete(t.keys, key)
	t.mu.Unlock()
}

// dropAll forgets all keys.
func (t *tallies) dropAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys = nil
}

func (t *tallies) delivered(p *Plan, v *view, key abi.KeyRef, n int) {
	if v.Count >= uncapped {
		return // each coming and going is told: counting all of them each time would cost their square
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[abi.KeyRef][]tally{}
	}
	all, ok := t.keys[key]
	if !ok {
		// the map must hold on to no object's bytes
		key.Namespace, key.Name = strings.Clone(key.Namespace), strings.Clone(key.Name)
		all = make([]tally, p.counts)
		t.keys[key] = all
	}
	i := slices.IndexFunc(all, func(x tally) bool { return !x.counted || int(x.view) == v.index })
	all[i] = tally{counted: true, view: int32(v.index), delivered: int32(min(n, int(v.Count))),
		least: int32(min(n, math.MaxInt32))}
}

// foresee takes down an event, and returns whether the key's count flips where that is known without counting; what it
// returns otherwise is the tally that a count is for.
func (t *tallies) foresee(key abi.KeyRef, v *view, by int) (count *tally, flips bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.find(key, v)
	if last == nil {
		return nil, true
	}
	most := v.Count
	if v.quietOn == 0 && (by > 0 && last.delivered == most || by < 0 && last.delivered == 0) {
		return nil, false // only an event the other way can make a difference, and it is asked too where none is quiet
	}
	if by < 0 {
		if last.least--; last.least >= most && last.delivered == most {
			return nil, false
		}
	}
	return last, false
}

// uncapped is the least cap that is as good as none.
const uncapped = 1 << 20

// flipsCount reports whether an event that added (1) or removed (-1) an object of the view, or may have done either
// (0), makes the key's capped count differ from what it was delivered. It counts anew only when the removals since the
// last time could have mattered: all in all as often as there are objects, not their square.
func (t *tallies) flipsCount(p *Plan, s *scratch, w World, v *view, key abi.KeyRef, by int) bool {
	last, flips := t.foresee(key, v, by)
	if last == nil {
		return flips
	}
	s.count.beginKey(p, w, key)
	n := int32(len(s.count.viewRows(v.index)))
	t.mu.Lock()
	defer t.mu.Unlock()
	last.least = n
	return min(n, v.Count) != last.delivered
}
