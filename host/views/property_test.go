package views

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/grant"
	"github.com/windlass-dev/windlass/host/schema"
)

// namedWhole reports of each view whether its conditions name a key whole, so that absent keys are woken through it
// too.
func namedWhole(c *abi.Controller) []bool {
	whole := make([]bool, len(c.Views))
	b := &brute{c: c}
	for i := range c.Views {
		if !c.Key.Single && int(c.Key.View) == i || c.Key.Single {
			whole[i] = true
			continue
		}

		whole[i] = true
		if g := c.Views[i].Guard; g != nil {
			visitConditions(g, func(g *abi.Condition) { whole[i] = whole[i] && (g.Op == "" || whole[g.View]) })
		}

		for _, a := range alternatives(c.Views[i].Where) {
			ok, ns, name, lost := false, false, false, false
			for _, l := range a {
				visitConditions(&l, func(l *abi.Condition) {
					if l.Op != abi.OpJoin && l.Op != abi.OpSelected {
						return
					}
					switch {
					case b.isKeyName(l) || l.View == abi.FromKey:
						field := strings.TrimPrefix(l.ViewPath, "metadata.")
						ns = ns || field == "namespace"
						name = name || field != "namespace"
					case l.View == c.Key.View || whole[l.View]:
						ok = true
					default:
						lost = true // what happens in that view leads to no absent key
					}
				})
			}
			if lost || !ok && !(name && (ns || c.Key.Path != "" || c.Views[c.Key.View].Resource != schema.Any &&
				!knownOf(c.Views[c.Key.View].Resource).namespaced)) {
				whole[i] = false
			}
		}
	}
	return whole
}

// routeEvents takes a resource's events to the plan, those for views over all resources too.
func routeEvents(x *Router, p *Plan, res abi.Resource, wake func(abi.KeyRef, time.Duration)) error {
	for _, n := range p.Needs() {
		if n.Resource != res && (n.Resource != schema.Any || !slices.Contains(anyPool, res)) {
			continue
		}
		if _, err := x.Add(p, n.Resource, nil, wake); err != nil {
			return err
		}
	}
	return nil
}

// universe returns all keys that there can be.
func universe(c *abi.Controller, w *world, known map[abi.KeyRef]bool) []abi.KeyRef {
	if c.Key.Single {
		return []abi.KeyRef{{}}
	}
	res := c.Views[c.Key.View].Resource
	if res == schema.Any {
		for _, r := range anyPool {
			for _, t := range w.things[r] {
				known[abi.KeyRef{Resource: r.String(), Namespace: t.ns, Name: t.name}] = true
			}
		}
	}

	for _, t := range w.things[res] {
		if c.Key.Path == "" {
			known[abi.KeyRef{Namespace: t.ns, Name: t.name}] = true
			continue
		}
		for _, v := range t.valuesAt(c.Key.Path) {
			known[abi.KeyRef{Name: v}] = true
		}
	}

	if c.Key.Path == "" {
		switch res {
		case nodesR, namespaces, volumes, schema.Any:
		default:
			for _, ns := range nsPool {
				for _, n := range namePool {
					known[abi.KeyRef{Namespace: ns, Name: n}] = true
				}
			}
		}
	}

	var all []abi.KeyRef
	for k := range known {
		all = append(all, k)
	}
	slices.SortFunc(all, compareKeys)
	return all
}

func resourcesOf(c *abi.Controller) []abi.Resource {
	var all []abi.Resource
	for _, v := range c.Views {
		of := []abi.Resource{v.Resource}
		if v.Resource == schema.Any {
			of = anyPool
		}
		for _, r := range of {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// figures are what a run counts.
type figures struct {
	worlds, events, changed, woken, superfluous, snapshots int
	// events that a filter made of updates, changes of what nobody keeps
	moved, dropped int
	// events that woke more than they would without filters, keys that weren't woken though they would be
	more, fewer int
	narrowed    bool          // worlds are seen through grants
	spent       time.Duration // in Wakes
}

func (f *figures) String() string {
	return fmt.Sprintf("%d worlds, %d events: %d keys changed loudly, %d woken, %d of them for nothing (%.1f %%); %d snapshots compared; %d objects came or went by an update, %d changes of what isn't kept, %d events woke more for it; %.2f µs per event in Wakes",
		f.worlds, f.events, f.changed, f.woken, f.superfluous, 100*float64(f.superfluous)/float64(max(f.woken, 1)),
		f.snapshots, f.moved, f.dropped, f.more, float64(f.spent.Microseconds())/float64(max(f.events, 1)))
}

// runWorld checks, event by event, that every key whose loud snapshot changed is woken, and that snapshots are what the
// brute-force evaluator finds. The cache keeps what the controller's and a stranger's constants let through; where it
// keeps everything, the same keys are woken.
func runWorld(seed uint64, c *abi.Controller, events int, f *figures) error {
	r := rand.New(rand.NewPCG(seed, 1))
	p, err := Compile(c)
	if err != nil {
		return err
	}

	stranger := randomController(rand.New(rand.NewPCG(seed, 3)))
	other, err := Compile(&stranger)
	if err != nil {
		return err
	}

	twin, err := Compile(c)
	if err != nil {
		return err
	}

	var rules []grant.Rule
	if f.narrowed {
		rules = randomGrant(rand.New(rand.NewPCG(seed, 7)))
	}

	g, err := grant.New(rules)
	if err != nil {
		return err
	}

	if err := errors.Join(p.Narrow(g), twin.Narrow(g)); err != nil {
		return err
	}
	w, err := newWorld(p, other)
	if err != nil {
		return err
	}

	if w.mirror, err = newWorld(twin, other); err != nil {
		return err
	}
	w.mirror.whole = true
	f.worlds++
	b := &brute{c: c, rules: rules, things: w.things, sorted: map[abi.Resource][]*thing{}}
	whole, resources := namedWhole(c), resourcesOf(c)
	known, before := map[abi.KeyRef]bool{}, map[abi.KeyRef]seen{}
	delivered := map[abi.KeyRef][]int64{}
	var snapshot, full Snapshot
	router := map[abi.Resource]*Router{}
	woken, unfiltered := map[abi.KeyRef]bool{}, map[abi.KeyRef]bool{}
	wake := func(k abi.KeyRef, _ time.Duration) { woken[k] = true }
	for _, res := range resources {
		router[res] = NewRouter(w, res)
		if err := routeEvents(router[res], p, res, wake); err != nil {
			return err
		}
	}

	// A count wakes when it is no longer what the key was delivered last, which isn't the same in both worlds.
	counted := slices.ContainsFunc(c.Views, func(v abi.View) bool { return v.Count > 0 })
	for n := range events {
		e, is := w.randomEvent(r, resources)
		clear(b.sorted)
		clear(woken)
		clear(unfiltered)
		if m, is := w.mirrored(); is {
			twin.Wakes(w.mirror, m, nil, func(k abi.KeyRef, _ time.Duration) { unfiltered[k] = true })
		}
		if is {
			f.events++
			start := time.Now()
			if n%2 == 0 {
				p.Wakes(w, e, nil, wake)
			} else {
				router[e.Resource.Resource].OnEvent(e)
			}
			f.spent += time.Since(start)
		}
		kind := abi.QuietUpdate
		o := e.New
		if o == nil {
			o = e.Old
		}
		switch {
		case o == nil:
			f.dropped++
			o, kind = &cache.Object{}, "nothing"
		case e.Moved:
			f.moved++
		case e.Old == nil:
			kind = abi.QuietAdd
		case e.New == nil:
			kind = abi.QuietDelete
		}
		// Only an object that other readers keep from now on may wake more: all that they want of it is new.
		if len(woken) > len(unfiltered) {
			f.more++
			if !e.Moved && w.sameReaders(e.Old, e.New) && !counted {
				return fmt.Errorf("event %d (%s of %s %s/%s): wakes %v, unfiltered %v", n, kind, e.Resource.Resource, o.Namespace,
					o.Name, woken, unfiltered)
			}
		}
		for k := range unfiltered {
			if !woken[k] {
				// of what is kept for others' sake, more may seem to have changed; that no wake-up is lost, the brute-force
				// evaluator tells
				f.fewer++
			}
		}
		except := func(i int, t *thing) bool {
			v := &c.Views[i]
			return t.resource == e.Resource.Resource && t.ns == o.Namespace && t.name == o.Name &&
				slices.Contains(v.QuietOn, kind)
		}
		for _, k := range universe(c, w, known) {
			after := evaluateKey(b, k)
			last, ok := before[k]
			before[k] = after
			if !ok {
				continue
			}
			what, changed := differs(b, whole, last, after, delivered[k], except)
			switch {
			case changed && !woken[k]:
				return fmt.Errorf("event %d (%s of %s %s/%s): key %+v changed in %s, and isn't woken", n, kind, e.Resource.Resource,
					o.Namespace, o.Name, k, what)
			case changed:
				f.changed++
			}
			if woken[k] {
				f.woken++
				if !changed {
					f.superfluous++
				}
			}
			if woken[k] || n%16 == 0 {
				if err := p.Snapshot(w, k, &snapshot); err != nil {
					return err
				}
				if err := compareSnapshot(c, &snapshot, after); err != nil {
					return fmt.Errorf("event %d: snapshot of %+v: %w", n, k, err)
				}
				if err := twin.Snapshot(w.mirror, k, &full); err != nil {
					return err
				}
				if err := sameData(&snapshot, &full); err != nil {
					return fmt.Errorf("event %d: snapshot of %+v: %w", n, k, err)
				}
				f.snapshots++
				delivered[k] = viewCounts(&snapshot)
			}
		}
	}
	return nil
}
