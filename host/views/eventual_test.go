package views

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// runLate checks the promise where the caches run ahead of the events: at any time an object changes in its store, or
// the oldest event of some resource is handled, or a woken key is synced. Once all events are handled, each key that
// isn't waiting for a sync has last seen what it would see now, lazy views that it asked for included.
func runLate(seed uint64, c *abi.Controller, steps int, f *figures) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range c.Views {
		// What is quiet for one kind of event is seen at the next sync: nothing to compare here.
		c.Views[i].QuietOn = nil
	}
	if !c.Key.Single {
		c.Views[c.Key.View].Quiet = nil // a key is to be woken when its object comes
	}
	p, err := Compile(c)
	if err != nil {
		return err
	}

	stranger := randomController(rand.New(rand.NewPCG(seed, 3)))
	other, err := Compile(&stranger)
	if err != nil {
		return err
	}

	w, err := newWorld(p, other)
	if err != nil {
		return err
	}

	f.worlds++
	b := &brute{c: c, things: w.things, sorted: map[abi.Resource][]*thing{}}
	whole, resources := namedWhole(c), resourcesOf(c)
	dirty := map[abi.KeyRef]bool{}

	type sight struct {
		seen
		asks    []abi.Ask
		answers [][]loudRow
	}

	last, known := map[abi.KeyRef]sight{}, map[abi.KeyRef]bool{}
	queues := make([][]cache.Event, len(resources))
	routers := make([]*Router, len(resources))
	for i, res := range resources {
		routers[i] = NewRouter(w, res)
		if err := routeEvents(routers[i], p, res, func(k abi.KeyRef, _ time.Duration) {
			dirty[k] = true
			f.woken++
		}); err != nil {
			return err
		}
	}

	handle := func(i int) {
		if len(queues[i]) > 0 {
			routers[i].OnEvent(queues[i][0])
			queues[i] = queues[i][1:]
			f.events++
		}
	}

	var s Snapshot
	sync := func(k abi.KeyRef) error {
		clear(b.sorted)
		delete(dirty, k)
		if err := p.Snapshot(w, k, &s); err != nil {
			return err
		}
		now := sight{seen: evaluateKey(b, k)}
		if err := compareSnapshot(c, &s, now.seen); err != nil {
			return fmt.Errorf("snapshot of %+v: %w", k, err)
		}
		f.snapshots++
		for i := range c.Views {
			if !c.Views[i].Lazy || chance(r, 30) {
				continue
			}
			a := randomAsk(r, &c.Views[i], i)
			got, err := s.Ask(&a)
			if err != nil {
				return fmt.Errorf("ask %+v: %w", a, err)
			}
			want := expectedAnswer(c, now.seen, &a)
			objects := len(got.Objects)
			if c.Views[i].Distinct {
				objects = alike(got.Objects)
			}
			if got.Guarded != now.views[i].guarded || objects != len(want) {
				return fmt.Errorf("key %+v asks %+v: %d objects, want %v", k, a, objects, want)
			}
			now.asks, now.answers = append(now.asks, a), append(now.answers, want)
		}
		last[k] = now
		return nil
	}

	for range steps {
		switch x := r.IntN(10); {
		case x < 4:
			if e, is := w.randomEvent(r, resources); is {
				i := slices.Index(resources, e.Resource.Resource)
				queues[i] = append(queues[i], e)
			}
		case x < 8:
			handle(r.IntN(len(queues)))
		default:
			if keys := sortedKeyRefs(dirty); len(keys) > 0 {
				if err := sync(pick(r, keys)); err != nil {
					return err
				}
			}
		}
	}

	for i := range queues {
		for len(queues[i]) > 0 {
			handle(i)
		}
	}

	clear(b.sorted)
	for _, k := range universe(c, w, known) {
		was, ok := last[k]
		if !ok || dirty[k] {
			continue
		}
		now := evaluateKey(b, k)
		if what, changed := differs(b, whole, was.seen, now, nil, nil); changed {
			return fmt.Errorf("key %+v last saw something else in %s, and isn't woken", k, what)
		}
		for i := range was.asks {
			v := was.asks[i].View
			if slices.Contains(c.Views[v].Quiet, "*") || now.absent && !whole[v] {
				continue
			}
			if rows := expectedAnswer(c, now, &was.asks[i]); !slices.Equal(rows, was.answers[i]) {
				return fmt.Errorf("key %+v asked %+v and saw %v, now it would see %v, and isn't woken",
					k, was.asks[i], was.answers[i], rows)
			}
		}
	}

	return nil
}

func sortedKeyRefs(m map[abi.KeyRef]bool) []abi.KeyRef {
	var all []abi.KeyRef
	for k := range m {
		all = append(all, k)
	}
	slices.SortFunc(all, compareKeys)
	return all
}

// randomAsk asks by names, values, a selector, or for everything.
func randomAsk(r *rand.Rand, v *abi.View, i int) abi.Ask {
	a := abi.Ask{View: int32(i)}
	k := knownOf(v.Resource)
	if k.namespaced && chance(r, 40) {
		a.Namespace = pick(r, nsPool)
	}
	switch r.IntN(4) {
	case 0:
		a.Names = pickSome(r, namePool, 50)
	case 1:
		if len(v.AskBy) > 0 {
			a.Path, a.Values = v.AskBy[0], []string{pick(r, []string{"x", "a", "b", "n0", "p", "fast"})}
		}
	case 2:
		if slices.Contains(v.Fields, "metadata.labels") {
			selector := randomSelector(r)
			if selector != nil {
				a.Selector, _ = selector.Marshal()
			}
		}
	}
	return a
}

// expectedAnswer returns what a question should get: the view's objects that pass a plain filter.
func expectedAnswer(c *abi.Controller, s seen, a *abi.Ask) []loudRow {
	var all []loudRow
	v := s.views[a.View]
	for j, t := range v.rows {
		if a.Namespace != "" && t.ns != a.Namespace || len(a.Names) > 0 && !slices.Contains(a.Names, t.name) {
			continue
		}
		if a.Path != "" && !slices.ContainsFunc(t.valuesAt(a.Path),
			func(x string) bool { return slices.Contains(a.Values, x) }) {
			continue
		}
		if a.Selector != nil && !selectedBy(a.Selector, t) {
			continue
		}
		all = append(all, loudRow{t.ns, t.name, s.hashes[a.View][j]})
	}
	return all
}

func selectedBy(raw []byte, t *thing) bool {
	var ls metav1.LabelSelector
	if err := ls.Unmarshal(raw); err != nil {
		panic(err)
	}
	s, err := metav1.LabelSelectorAsSelector(&ls)
	return err == nil && s.Matches(t.labels)
}
