package views

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// evaluation evaluates the views of a key, each at most once, earlier ones as they are needed.
type evaluation struct {
	plan  *Plan
	world World
	key   abi.KeyRef
	views []evaluated
	picks []*cache.Object // the earlier objects of the combination being looked up
	buf   [][]byte

	currency Currency
	young    *Young // the first store that isn't current
}

type evaluated struct {
	rows     []*cache.Object
	done     bool
	guarded  bool
	unlisted []abi.Resource // what a lenient view goes on without
}

// beginKey makes the evaluation one of the key, keeping its buffers.
func (x *evaluation) beginKey(p *Plan, w World, key abi.KeyRef) {
	x.plan, x.world, x.key = p, w, key
	x.currency, x.young = nil, nil
	if c := p.currency.Load(); c != nil {
		x.currency = *c
	}
	if len(x.views) != len(p.views) {
		x.views = make([]evaluated, len(p.views))
		x.picks = make([]*cache.Object, len(p.views))
	}
	for i := range x.views {
		clear(x.views[i].rows)
		x.views[i] = evaluated{rows: x.views[i].rows[:0]}
	}
}

// viewRows returns a view's objects in the order of their names.
func (x *evaluation) viewRows(i int) []*cache.Object {
	e := &x.views[i]
	if e.done {
		return e.rows
	}
	e.done = true
	v := x.plan.views[i]
	if !x.guardHolds(v) {
		e.guarded = true
		return nil
	}
	e.rows = x.select_(v, e.rows)
	x.checkRows(v, e.rows)
	return e.rows
}

// select_ appends the objects that satisfy the view's conditions.
func (x *evaluation) select_(v *view, dst []*cache.Object) []*cache.Object {
	if v.isKeyView(x.plan) && x.plan.ObjectKeys() {
		r := v.Resource
		if v.plan.overAllResources() {
			var ok bool
			if r, ok = abi.ParseResource(x.key.Resource); !ok {
				return dst
			}
		}
		x.checkCurrency(v, r)
		store := x.world.Store(r)
		if store == nil {
			return dst // it isn't served any more
		}
		if o := store.Get(x.key.Namespace, x.key.Name); o != nil && slices.ContainsFunc(v.clauses, func(c *clause) bool {
			return c.conj.holds(wholeObject(o))
		}) {
			dst = append(dst, o)
		}
		return dst
	}
	return sortObjects(x.matching(v, dst))
}

// matching appends the objects that satisfy the conditions of a view that isn't the key's, in any order, some perhaps
// twice.
func (x *evaluation) matching(v *view, dst []*cache.Object) []*cache.Object {
	if !v.Partial { // else the plugin asks the API server for what it doesn't find
		x.checkCurrency(v, v.Resource)
	}
	return x.combineClauses(v, x.world.Store(v.Resource), dst)
}

// combineClauses appends the objects of a store that satisfy one of the view's disjuncts.
func (x *evaluation) combineClauses(v *view, store Store, dst []*cache.Object) []*cache.Object {
	for _, c := range v.clauses {
		for _, e := range c.refs {
			x.viewRows(e) // evaluating one in the midst of a combination would change what is picked
		}
		dst = x.combine(store, c, 0, dst)
	}
	return dst
}

// sortObjects puts objects in the order of their names, each once.
func sortObjects(rows []*cache.Object) []*cache.Object {
	slices.SortFunc(rows, compareObjects)
	return slices.CompactFunc(rows, func(a, b *cache.Object) bool { return compareObjects(a, b) == 0 })
}

func compareNames(a, b *cache.Object) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// compareObjects compares objects of several resources too.
func compareObjects(a, b *cache.Object) int {
	if c := compareNames(a, b); c != 0 || a.Resource == b.Resource {
		return c
	}
	return strings.Compare(a.Resource.ID(), b.Resource.ID())
}

func (x *evaluation) guardHolds(v *view) bool {
	if v.guard == nil {
		return true
	}
	return slices.ContainsFunc(v.guard, func(terms []term) bool {
		return !slices.ContainsFunc(terms, func(t term) bool { return !x.termHolds(t) })
	})
}

func (x *evaluation) termHolds(t term) bool {
	rows := x.viewRows(t.view)
	if t.empty {
		return len(rows) == 0
	}
	return slices.ContainsFunc(rows, func(o *cache.Object) bool { return t.conj.holds(wholeObject(o)) })
}

// combine looks the clause up for each combination of objects of the earlier views that it names, from the n-th on.
func (x *evaluation) combine(store Store, c *clause, n int, dst []*cache.Object) []*cache.Object {
	if n < len(c.refs) {
		for _, o := range x.viewRows(c.refs[n]) {
			x.picks[c.refs[n]] = o
			dst = x.combine(store, c, n+1, dst)
		}
		return dst
	}
	if c.list {
		return x.appendSelected(c, store.List(), dst)
	}
	if c.byName {
		return x.lookupNames(store, c, dst)
	}
	composites := []string{""}
	for _, j := range c.joins {
		if composites = product(composites, x.appendWanted(x.buf[:0], j)); len(composites) == 0 {
			return dst
		}
	}
	for _, s := range composites {
		dst = x.appendSelected(c, store.ByIndex(c.index, s), dst)
	}
	return dst
}

// appendWanted appends the values that the join's own side must have one of.
func (x *evaluation) appendWanted(dst [][]byte, j *join) [][]byte {
	if j.view == abi.FromKey {
		if s := fromKey(x.key, j.viewPath.text); s != "" {
			dst = append(dst, []byte(s))
		}
		return dst
	}
	return j.viewPath.appendValues(dst, wholeObject(x.picks[j.view]))
}

func (x *evaluation) lookupNames(store Store, c *clause, dst []*cache.Object) []*cache.Object {
	names, namespaces := [][]byte(nil), [][]byte{nil}
	for _, j := range c.joins {
		if j.meta == 's' {
			namespaces = x.appendWanted(nil, j)
		} else {
			names = x.appendWanted(nil, j)
		}
	}
	for _, ns := range namespaces {
		for _, n := range names {
			if o := store.Get(string(ns), string(n)); o != nil && c.conj.holds(wholeObject(o)) {
				dst = x.appendSelected(c, []*cache.Object{o}, dst)
			}
		}
	}
	return dst
}

// appendSelected appends the objects that the clause's selectors match.
func (x *evaluation) appendSelected(c *clause, found, dst []*cache.Object) []*cache.Object {
	if len(c.selectors) == 0 {
		return append(dst, found...)
	}
	if len(found) == 0 {
		return dst
	}

	var room [2]selectors
	var texts [2][]byte
	wanted, needed := room[:0], texts[:0]
	for i, j := range c.selectors {
		wanted = append(wanted, selectorsAt(j.viewPath.path, x.picks[j.view].Raw))
		needed = append(needed, wanted[i].neededText())
	}

next:
	for _, o := range found {
		for i, j := range c.selectors {
			if !bytes.Contains(o.Raw, needed[i]) {
				continue next
			}
			labels, err := labelsAt(x.buf[:0], j.path, o.Raw)
			if err != nil || !wanted[i].matchesLabels(labels) {
				continue next
			}
			x.buf = labels[:0]
		}
		dst = append(dst, o)
	}

	return dst
}
