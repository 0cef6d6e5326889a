package views

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// kinds is a set of kinds of events.
type kinds uint8

const (
	onAdd kinds = 1 << iota
	onUpdate
	onDelete
	onStart
	onOwn
)

var kindNames = map[string]kinds{
	abi.QuietAdd: onAdd, abi.QuietUpdate: onUpdate, abi.QuietDelete: onDelete, abi.QuietStart: onStart, abi.QuietOwn: onOwn,
}

// kindOf gives the kind of an event: both that it may be, where the cache can't tell.
func kindOf(e cache.Event) kinds {
	kind := onUpdate
	switch {
	case e.Old == nil && e.Initial:
		return onStart
	case e.Old == nil:
		kind = onAdd
	case e.New == nil:
		kind = onDelete
	}
	if e.Moved {
		kind |= onUpdate
	}
	return kind
}

// scratch holds what one walk needs.
type scratch struct {
	old, new []abi.KeyRef
	woken    []wakeUp
	guard    evaluation
	count    evaluation
	changed  schema.Bits
	memo     *memo // nil: nothing is remembered
}

type wakeUp struct {
	key   abi.KeyRef
	delay time.Duration
}

// Wakes calls wake for each key that the event concerns, once, with the delay of the view that wants it soonest.
// own tells whether this controller wrote a version of an object.
func (p *Plan) Wakes(w World, e cache.Event, own func(*cache.Object) bool, wake func(key abi.KeyRef, delay time.Duration)) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	for _, r := range p.resources {
		if !r.reads(e.Resource.Resource) {
			continue
		}
		if e.Old != nil {
			r.hot.forget(e.Old)
		}
		e, ok := r.granted(p.grant, e)
		if !ok {
			continue
		}
		p.wakes(s, r, p.world(w), e, r.changed(e, &s.changed), r.tests, own, wake)
	}
}

// wakes is Wakes with the changed leaves known.
func (p *Plan) wakes(s *scratch, r *resourcePlan, w World, e cache.Event, changed schema.Bits, tests []tests, own func(*cache.Object) bool, wake func(key abi.KeyRef, delay time.Duration)) {
	kind := kindOf(e)
	s.woken = s.woken[:0]
	echo := 0 // not asked yet
	for i, v := range r.views {
		loud := !v.quietAll && v.quietOn&kind != kind
		if loud && v.quietOn&onOwn != 0 && e.New != nil && own != nil {
			if echo == 0 {
				echo = 1
				if own(e.New) {
					echo = 2
				}
			}
			loud = echo == 1
		}
		content, member := v.concerned(s.memo, e, kind, loud, changed, tests[i])
		if !content && !member {
			continue
		}
		p.wakeView(s, v, w, e, content || member && v.loose, member)
	}
	for _, k := range s.once() {
		wake(k.key, k.delay)
	}
}

// concerned tells whether an event changes what the view's objects hold, or may change which they are.
func (v *view) concerned(m *memo, e cache.Event, kind kinds, loud bool, changed schema.Bits, t tests) (content, member bool) {
	if !loud && !v.feeds {
		return false, false
	}
	if kind != onUpdate {
		return true, true
	}
	content = loud && v.Count == 0 && changed.Intersects(t.loud) || v.feeds && (changed.Intersects(t.fed) || changed.Intersects(t.gated) && v.turns(m, e))
	return content, changed.Intersects(t.read)
}

// turns tells whether an update changes what some later view's guard asks of the object. What the guard says of a key is a matter of that, and of which objects the key's view holds.
func (v *view) turns(m *memo, e cache.Event) bool {
	return slices.ContainsFunc(v.gates, func(c *conj) bool { return c.holds(m.of(e.Old)) != c.holds(m.of(e.New)) })
}

// Echoes tells whether an event wakes keys even if it is the echo of this controller's own write. It is for those who learn only later that it was one.
func (p *Plan) Echoes(e cache.Event) bool {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	for _, r := range p.resources {
		if !r.reads(e.Resource.Resource) {
			continue
		}
		e, ok := r.granted(p.grant, e)
		if !ok {
			continue
		}
		changed, kind := r.changed(e, &s.changed), kindOf(e)
		for i, v := range r.views {
			loud := !v.quietAll && v.quietOn&kind != kind && (v.quietOn&onOwn == 0 || e.New == nil)
			if content, member := v.concerned(nil, e, kind, loud, changed, r.tests[i]); content || member {
				return true
			}
		}
	}
	return false
}

// changed are the leaves that an event changed, with room for them.
func (r *resourcePlan) changed(e cache.Event, room *schema.Bits) schema.Bits {
	// Another object of the same name, or bytes that can't be read: everything may have changed.
	if e.Old != nil && e.New != nil && e.Old.UID == e.New.UID && r.leaves.Changed(e.Old.Raw, e.New.Raw, room) == nil {
		return *room
	}
	return r.all
}

// wakeView collects the keys that an event wakes through one view.
func (p *Plan) wakeView(s *scratch, v *view, w World, e cache.Event, content, member bool) {
	delay := time.Duration(v.Batch)
	if v.Lazy {
		p.wakeAsked(s, v, w, e, delay)
		return
	}
	s.old, s.new = s.old[:0], s.new[:0]
	if e.Old != nil && (member || e.New == nil) { // else it belongs to the same keys as the new one
		s.old = p.walk(s, w, v, e.Old, s.old)
	}
	if e.New != nil {
		s.new = p.walk(s, w, v, e.New, s.new)
	}
	counts := v.Count > 0 && !v.feeds
	for _, k := range s.old {
		by := -1
		if has(s.new, k) {
			if !content {
				continue
			}
			by = 0 // the walk may have found too many keys: whether the object is still one of this key's is not known
		}
		if counts && !p.tallies.flips(p, s, w, v, k, by) {
			continue
		}
		s.add(k, delay)
	}
	for _, k := range s.new {
		if has(s.old, k) {
			continue // the loop above had it
		}
		if counts && !p.tallies.flips(p, s, w, v, k, 1) {
			continue
		}
		s.add(k, delay)
	}
}

// wakeAsked collects the keys that asked a lazy view for the event's object.
func (p *Plan) wakeAsked(s *scratch, v *view, w World, e cache.Event, delay time.Duration) {
	if !v.mayHold(e.Old) {
		e.Old = nil
	}
	if !v.mayHold(e.New) {
		e.New = nil
	}
	if p.subs.none(v) {
		return // most often: who asks later reads caches that are past this event
	}
	if v.unjoined() {
		p.subs.find(v, e, func(k abi.KeyRef) { s.add(k, delay) })
		return
	}
	s.old = s.old[:0]
	for _, o := range []*cache.Object{e.Old, e.New} {
		if o != nil {
			s.old = p.walk(s, w, v, o, s.old)
		}
	}
	for _, k := range s.old {
		if p.subs.wants(k, v, e) {
			s.add(k, delay)
		}
	}
}

// unjoined tells that every key has the objects of one of the view's disjuncts.
func (v *view) unjoined() bool {
	return slices.ContainsFunc(v.clauses, func(c *clause) bool { return c.direct == nil && len(c.links) == 0 })
}

// has tells whether sorted keys contain one.
func has(keys []abi.KeyRef, k abi.KeyRef) bool {
	_, ok := slices.BinarySearchFunc(keys, k, compareKeys)
	return ok
}

func compareKeys(a, b abi.KeyRef) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.Resource, b.Resource)
}

func (s *scratch) add(k abi.KeyRef, delay time.Duration) { s.woken = append(s.woken, wakeUp{k, delay}) }

// once leaves each key once, with its shortest delay.
func (s *scratch) once() []wakeUp {
	if len(s.woken) < 2 {
		return s.woken
	}
	slices.SortFunc(s.woken, func(a, b wakeUp) int { return cmp.Or(compareKeys(a.key, b.key), cmp.Compare(a.delay, b.delay)) })
	return slices.CompactFunc(s.woken, func(a, b wakeUp) bool { return a.key == b.key })
}

// guarded tells whether the view's guard holds for the key.
func (p *Plan) guarded(s *scratch, w World, v *view, k abi.KeyRef) bool {
	if v.guard == nil {
		return true
	}
	s.guard.begin(p, w, k)
	return s.guard.guardHolds(v)
}

// walk appends the keys in whose snapshots the view holds the object: sorted, each once. It is exact, as far as the caches are, but for views that are [view.loose]:
// that an object stays in a key's view through an update is only known from a walk that finds neither too few nor too many.
func (p *Plan) walk(s *scratch, w World, v *view, o *cache.Object, dst []abi.KeyRef) []abi.KeyRef {
	from := len(dst)
	for _, c := range v.clauses {
		dst = p.walkClause(s, w, v, c, o, dst)
	}
	if len(dst)-from > 1 {
		slices.SortFunc(dst[from:], compareKeys)
		dst = dst[:from+len(slices.Compact(dst[from:]))]
	}
	if v.guard == nil {
		return dst
	}
	return dst[:from+len(slices.DeleteFunc(dst[from:], func(k abi.KeyRef) bool { return !p.guarded(s, w, v, k) }))]
}

func (p *Plan) walkClause(s *scratch, w World, v *view, c *clause, o *cache.Object, dst []abi.KeyRef) []abi.KeyRef {
	subject := s.memo.of(o)
	if !c.conj.holds(subject) {
		return dst // most often known before any index is asked
	}
	if v.isKey(p) && p.ObjectKeys() {
		return append(dst, p.ref(o))
	}
	if c.direct == nil && len(c.links) == 0 {
		return p.all(s, w, dst)
	}
	from := len(dst)
	first := true
	if c.direct != nil {
		for _, t := range c.direct.tuples(subject, []string{""}) {
			if k, ok := directKey(c.directJoins, t); ok {
				dst = append(dst, k)
			}
		}
		first = false
	}
	for _, l := range c.links {
		if !first && len(dst) == from {
			return dst
		}
		if c.direct != nil && p.views[l.view].open {
			continue // it wouldn't lead to an absent key that is named whole
		}
		found := p.walkLink(s, w, l, o, nil)
		if first {
			dst = append(dst, found...)
			first = false
			continue
		}
		slices.SortFunc(found, compareKeys)
		both := dst[:from]
		for _, k := range dst[from:] {
			if has(found, k) {
				both = append(both, k)
			}
		}
		dst = both
	}
	if c.filter == nil {
		return dst
	}
	var parts []abi.KeyRef
	for _, t := range c.filter.tuples(subject, []string{""}) {
		if k, ok := directKey(c.directJoins, t); ok {
			parts = append(parts, k)
		}
	}
	return append(dst[:from], slices.DeleteFunc(dst[from:], func(k abi.KeyRef) bool {
		return !slices.ContainsFunc(parts, func(part abi.KeyRef) bool {
			return (part.Namespace == "" || part.Namespace == k.Namespace) && (part.Name == "" || part.Name == k.Name)
		})
	})...)
}

// walkLink goes on to the keys of the earlier view's objects that the object is joined with.
func (p *Plan) walkLink(s *scratch, w World, l *link, o *cache.Object, dst []abi.KeyRef) []abi.KeyRef {
	e := p.views[l.view]
	for _, far := range p.linked(s, w.Store(e.Resource), l, o) {
		dst = p.walk(s, w, e, far, dst)
	}
	return dst
}

// linked are the objects that the link leads to. Those of an event's object are looked up once for all plans, but for those that don't see all there is: what another plan found a
// moment ago may have changed since, and then another event tells of that.
func (p *Plan) linked(s *scratch, store Store, l *link, o *cache.Object) []*cache.Object {
	from := s.memo.of(o)
	if from.known == nil || l.number == unnumbered || p.grant != nil {
		return l.lookup(store, from, nil)
	}
	known := at(&from.known.led, l.number)
	if !known.done {
		known.all, known.done = l.lookup(store, from, known.all), true
	}
	return known.all
}

// lookup appends the objects that the link leads to.
func (l *link) lookup(store Store, from subject, dst []*cache.Object) []*cache.Object {
	tuples := l.near.tuples(from, []string{""})
	switch {
	case len(tuples) == 0:
		return dst
	case l.byName:
		for _, t := range tuples {
			if k, ok := directKey(l.far.joins, t); ok {
				if far := store.Get(k.Namespace, k.Name); far != nil {
					dst = append(dst, far)
				}
			}
		}
		return dst
	case l.selector == nil:
		for _, t := range tuples {
			dst = append(dst, store.ByIndex(l.index, t)...)
		}
		return dst
	}
	var room [16][]byte
	labels, err := labelsAt(room[:0], l.selector.path, from.raw)
	if err != nil {
		return dst
	}
	var composites []string
	for _, t := range tuples {
		composites = appendTokens(composites, t, labels)
	}
	for _, t := range composites {
	next:
		for _, far := range store.ByIndex(l.index, t) {
			if !selects(l.selector.viewPath.path, far.Raw, labels) {
				continue
			}
			for _, j := range l.rest {
				if more, err := labelsAt(nil, j.path, from.raw); err != nil || !selects(j.viewPath.path, far.Raw, more) {
					continue next
				}
			}
			dst = append(dst, far)
		}
	}
	return dst
}

// directKey reads a key off a composite.
func directKey(joins []*join, composite string) (abi.KeyRef, bool) {
	var k abi.KeyRef
	b := []byte(composite)
	for _, j := range joins {
		size, n := binary.Uvarint(b)
		part := string(b[n : n+int(size)])
		b = b[n+int(size):]
		to := &k.Name
		if j.viewPath.text == "namespace" || j.viewPath.text == "" && j.meta == 's' {
			to = &k.Namespace
		}
		if *to != "" && *to != part {
			return k, false
		}
		*to = part
	}
	return k, true
}

// all appends every key that has an object.
func (p *Plan) all(s *scratch, w World, dst []abi.KeyRef) []abi.KeyRef {
	if p.key.Single {
		return append(dst, abi.KeyRef{})
	}
	v := p.keyView()
	store := w.Store(v.Resource)
	for _, c := range v.clauses {
		found := store.List
		if p.ObjectKeys() && !c.list {
			found = func() []*cache.Object { return store.ByIndex(c.index, "") }
		}
		for _, o := range found() {
			dst = p.walkClause(s, w, v, c, o, dst)
		}
	}
	return dst
}

// Keys calls f for each key there is at start, once: those that a loud object found there walks back to, whether or not the key's own object exists.
func (p *Plan) Keys(w World, f func(abi.KeyRef)) {
	p.KeysOf(w, func(abi.KeyRef) bool { return true }, f)
}

// KeysOf is Keys for those that are wanted alone; nothing is kept of the others meanwhile.
func (p *Plan) KeysOf(w World, wanted func(abi.KeyRef) bool, f func(abi.KeyRef)) {
	if p.key.Single {
		if k := (abi.KeyRef{}); wanted(k) {
			f(k)
		}
		return
	}
	w = p.world(w)
	seen := map[abi.KeyRef]struct{}{}
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	var keys []abi.KeyRef
	for _, v := range p.views {
		if v.quietAll || v.quietOn&onStart != 0 || v.Lazy || v.unjoined() && !v.isKey(p) {
			continue // those that wake everyone add nothing to the objects of the key view
		}
		for _, o := range w.Store(v.Resource).List() {
			keys = p.walk(s, w, v, o, keys[:0])
			for _, k := range keys {
				if _, ok := seen[k]; !ok && wanted(k) {
					seen[k] = struct{}{}
					f(k)
				}
			}
		}
	}
}
