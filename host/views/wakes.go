package views

import (
	"cmp"
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
	abi.QuietAdd: onAdd, abi.QuietUpdate: onUpdate, abi.QuietDelete: onDelete, abi.QuietStart: onStart,
	abi.QuietOwn: onOwn,
}

// eventKinds returns the kind of an event: both that it may be, where the cache can't tell.
func eventKinds(e cache.Event) kinds {
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
// own tells whether an event shows no more than a write of this controller's.
func (p *Plan) Wakes(w World, e cache.Event, own func(cache.Event) bool,
	wake func(key abi.KeyRef, delay time.Duration)) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	for _, r := range p.resources {
		if !r.readsResource(e.Resource.Resource) {
			continue
		}
		if e.Old != nil {
			r.hot.forget(e.Old)
		}
		e, ok := r.granted(p.grant, e)
		if !ok {
			continue
		}
		p.wakesForChange(s, r, p.coveredWorld(w), e, r.changed(e, &s.changed), r.tests, own, wake)
	}
}

// wakesForChange is Wakes with the changed leaves known.
func (p *Plan) wakesForChange(s *scratch, r *resourcePlan, w World, e cache.Event, changed schema.Bits, tests []tests,
	own func(cache.Event) bool, wake func(key abi.KeyRef, delay time.Duration)) {
	kind := eventKinds(e)
	s.woken = s.woken[:0]
	echo := 0 // not asked yet
	for i, v := range r.views {
		loud := !v.quietAll && v.quietOn&kind != kind
		if loud && v.quietOn&onOwn != 0 && e.New != nil && own != nil {
			if echo == 0 {
				echo = 1
				if own(e) {
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
	for _, k := range s.distinctWakes() {
		wake(k.key, k.delay)
	}
}

// concerned reports whether an event changes what the view's objects hold, or may change which they are.
func (v *view) concerned(m *memo, e cache.Event, kind kinds, loud bool, changed schema.Bits, t tests) (content,
	member bool) {
	if !loud && !v.feeds {
		return false, false
	}
	if kind != onUpdate {
		return true, true
	}
	content = loud && v.Count == 0 && changed.Intersects(t.loud) ||
		v.feeds && (changed.Intersects(t.fed) || changed.Intersects(t.gated) && v.turnsGuard(m, e))
	return content, changed.Intersects(t.read)
}

// turnsGuard reports whether an update changes what some later view's guard asks of the object. What the guard says of
// a key is a matter of that, and of which objects the key's view holds.
func (v *view) turnsGuard(m *memo, e cache.Event) bool {
	return slices.ContainsFunc(v.gates,
		func(c *conj) bool { return c.holds(m.subjectOf(e.Old)) != c.holds(m.subjectOf(e.New)) })
}

// Echoes reports whether an event wakes keys even if it is the echo of this controller's own write. It is for those who
// learn only later that it was one.
func (p *Plan) Echoes(e cache.Event) bool {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	for _, r := range p.resources {
		if !r.readsResource(e.Resource.Resource) {
			continue
		}
		e, ok := r.granted(p.grant, e)
		if !ok {
			continue
		}
		changed, kind := r.changed(e, &s.changed), eventKinds(e)
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
		p.wakeAsked(s, v, w, e, content, delay)
		return
	}

	s.old, s.new = s.old[:0], s.new[:0]
	if e.Old != nil && (member || e.New == nil) { // else it belongs to the same keys as the new one
		s.old = p.walkToKeys(s, w, v, e.Old, s.old)
	}
	if e.New != nil {
		s.new = p.walkToKeys(s, w, v, e.New, s.new)
	}

	counts := v.Count > 0 && !v.feeds
	for _, k := range s.old {
		by := -1
		if containsKey(s.new, k) {
			if !content {
				continue
			}
			by = 0 // the walk may have found too many keys: whether the object is still one of this key's is not known
		}
		if counts && !p.tallies.flipsCount(p, s, w, v, k, by) {
			continue
		}
		s.add(k, delay)
	}

	for _, k := range s.new {
		if containsKey(s.old, k) {
			continue // the loop above had it
		}
		if counts && !p.tallies.flipsCount(p, s, w, v, k, 1) {
			continue
		}
		s.add(k, delay)
	}
}

// wakeAsked collects the keys that asked a lazy view for the event's object: where its content changed, those that have
// it; else those for whom it comes or goes.
func (p *Plan) wakeAsked(s *scratch, v *view, w World, e cache.Event, content bool, delay time.Duration) {
	if !v.mayHold(e.Old) {
		e.Old = nil
	}
	if !v.mayHold(e.New) {
		e.New = nil
	}
	if p.subs.nobodyAsked(v) {
		return // most often: who asks later reads caches that are past this event
	}
	if v.unjoined() {
		p.subs.visitAskingKeys(v, e, content, func(k abi.KeyRef) { s.add(k, delay) })
		return
	}

	s.old, s.new = s.old[:0], s.new[:0]
	if e.Old != nil {
		s.old = p.walkToKeys(s, w, v, e.Old, s.old)
	}
	if e.New != nil {
		s.new = p.walkToKeys(s, w, v, e.New, s.new)
	}
	for _, k := range s.old {
		of := cache.Event{Old: e.Old}
		if containsKey(s.new, k) {
			of.New = e.New
		}
		if p.subs.asksFor(k, v, of, content) {
			s.add(k, delay)
		}
	}
	for _, k := range s.new {
		if !containsKey(s.old, k) && p.subs.asksFor(k, v, cache.Event{New: e.New}, content) {
			s.add(k, delay)
		}
	}
}

// unjoined reports that every key has the objects of one of the view's disjuncts.
func (v *view) unjoined() bool {
	return slices.ContainsFunc(v.clauses, func(c *clause) bool { return c.direct == nil && len(c.links) == 0 })
}

// containsKey reports whether sorted keys contain one.
func containsKey(keys []abi.KeyRef, k abi.KeyRef) bool {
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

// distinctWakes leaves each key once, with its shortest delay.
func (s *scratch) distinctWakes() []wakeUp {
	if len(s.woken) < 2 {
		return s.woken
	}
	slices.SortFunc(s.woken, func(a, b wakeUp) int {
		return cmp.Or(compareKeys(a.key, b.key), cmp.Compare(a.delay, b.delay))
	})
	return slices.CompactFunc(s.woken, func(a, b wakeUp) bool { return a.key == b.key })
}

// guarded reports whether the view's guard holds for the key.
func (p *Plan) guarded(s *scratch, w World, v *view, k abi.KeyRef) bool {
	if v.guard == nil {
		return true
	}
	s.guard.beginKey(p, w, k)
	return s.guard.guardHolds(v)
}

// appendAllKeys appends every key that has an object.
func (p *Plan) appendAllKeys(s *scratch, w World, dst []abi.KeyRef) []abi.KeyRef {
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

// Keys calls f for each key there is at start, once: those that a loud object found there walks back to, whether or not
// the key's own object exists.
func (p *Plan) Keys(w World, f func(abi.KeyRef)) {
	p.KeysOf(w, func(abi.KeyRef) bool { return true }, f)
}

// KeysOf is Keys for those that are wanted alone; nothing is kept of the others meanwhile.
func (p *Plan) KeysOf(w World, wanted func(abi.KeyRef) bool, f func(abi.KeyRef)) {
	p.keysOf(w, func(v *view) abi.Resource { return v.Resource }, wanted, f)
}

// KeysFrom is Keys for those alone that objects of one resource walk back to.
func (p *Plan) KeysFrom(w World, r abi.Resource, f func(abi.KeyRef)) {
	from := func(v *view) abi.Resource {
		if v.Resource == r || v.Resource == schema.Any {
			return r
		}
		return abi.Resource{}
	}
	p.keysOf(w, from, func(abi.KeyRef) bool { return true }, f)
}

// keysOf calls f for each wanted key that an object walks back to: of each view those of the resource that from tells.
func (p *Plan) keysOf(w World, from func(*view) abi.Resource, wanted func(abi.KeyRef) bool, f func(abi.KeyRef)) {
	if p.key.Single {
		if k := (abi.KeyRef{}); wanted(k) {
			f(k)
		}
		return
	}

	w = p.coveredWorld(w)
	seen := map[abi.KeyRef]struct{}{}
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	var keys []abi.KeyRef
	for _, v := range p.views {
		if v.quietAll || v.quietOn&onStart != 0 || v.Lazy || v.unjoined() && !v.isKeyView(p) {
			continue // those that wake everyone add nothing to the objects of the key view
		}
		r := from(v)
		if r == (abi.Resource{}) {
			continue
		}
		for _, o := range w.Store(r).List() {
			keys = p.walkToKeys(s, w, v, o, keys[:0])
			for _, k := range keys {
				if _, ok := seen[k]; !ok && wanted(k) {
					seen[k] = struct{}{}
					f(k)
				}
			}
		}
	}
}
