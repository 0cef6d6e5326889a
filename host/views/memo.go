package views

import (
	"sync"

	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// memo remembers, while an event goes through all plans, what was read of its objects and what they lead to: plans ask
// the same of them, each for itself.
type memo struct {
	old, new version
	changed  schema.Bits
}

// version is what is known of one version of an object.
type version struct {
	o      *cache.Object
	values []remembered[[]byte]        // by number of the source
	raws   []remembered[[]byte]        // the same, undecoded
	led    []remembered[*cache.Object] // by number of the link
}

type remembered[T any] struct {
	done bool
	all  []T
}

// beginEvent makes the memo one of the event.
func (m *memo) beginEvent(e cache.Event) { m.old.o, m.new.o = e.Old, e.New }

// endEvent forgets everything, but keeps the room.
func (m *memo) endEvent() {
	m.old.forget()
	m.new.forget()
}

func (v *version) forget() {
	v.o = nil
	forgetAll(v.values)
	forgetAll(v.raws)
	forgetAll(v.led)
}

func forgetAll[T any](all []remembered[T]) {
	for i := range all {
		if all[i].done {
			clear(all[i].all)
			all[i] = remembered[T]{all: all[i].all[:0]}
		}
	}
}

// rememberedAt returns the place for what has the number.
func rememberedAt[T any](all *[]remembered[T], number int) *remembered[T] {
	for number >= len(*all) {
		*all = append(*all, remembered[T]{})
	}
	return &(*all)[number]
}

// subjectOf returns the object with what is remembered of it, if it is one of the event's.
func (m *memo) subjectOf(o *cache.Object) subject {
	s := wholeObject(o)
	switch {
	case m == nil:
	case o == m.old.o:
		s.known = &m.old
	case o == m.new.o:
		s.known = &m.new
	}
	return s
}

// numbersMax is how many texts have numbers: several times those of all built-in plugins. What has none isn't
// remembered, so that plugins that come and go don't make memos grow.
const numbersMax = 4096

// unnumbered is the number of what has none.
const unnumbered = 0

// numbers gives texts numbers from 1 on, the same text always the same, as long as there are any left.
type numbers struct {
	mu    sync.Mutex
	known map[string]int
}

func (n *numbers) numberOf(text string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, ok := n.known[text]
	switch {
	case !ok && len(n.known) >= numbersMax:
		return unnumbered
	case !ok:
		if n.known == nil {
			n.known = map[string]int{}
		}
		i = len(n.known) + 1
		n.known[text] = i
	}
	return i
}
