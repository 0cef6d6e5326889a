package views

import (
	"encoding/binary"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// walkToKeys appends the keys in whose snapshots the view holds the object: sorted, each once. It is exact, as far as
// the caches are, but for views that are [view.loose]: that an object stays in a key's view through an update is only
// known from a walk that finds neither too few nor too many.
func (p *Plan) walkToKeys(s *scratch, w World, v *view, o *cache.Object, dst []abi.KeyRef) []abi.KeyRef {
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
	subject := s.memo.subjectOf(o)
	if !c.conj.holds(subject) {
		return dst // most often known before any index is asked
	}
	if v.isKeyView(p) && p.ObjectKeys() {
		return append(dst, p.keyOfObject(o))
	}
	if c.direct == nil && len(c.links) == 0 {
		return p.appendAllKeys(s, w, dst)
	}

	from := len(dst)
	first := true
	if c.direct != nil {
		for _, t := range c.direct.extendComposites(subject, []string{""}) {
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
			if containsKey(found, k) {
				both = append(both, k)
			}
		}
		dst = both
	}

	if c.filter == nil {
		return dst
	}
	var parts []abi.KeyRef
	for _, t := range c.filter.extendComposites(subject, []string{""}) {
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
	for _, far := range p.linkedObjects(s, w.Store(e.Resource), l, o) {
		dst = p.walkToKeys(s, w, e, far, dst)
	}
	return dst
}

// linkedObjects returns the objects that the link leads to. Those of an event's object are looked up once for all
// plans, but for those that don't see all there is: what another plan found a moment ago may have changed since, and
// then another event tells of that.
func (p *Plan) linkedObjects(s *scratch, store Store, l *link, o *cache.Object) []*cache.Object {
	from := s.memo.subjectOf(o)
	if from.known == nil || l.number == unnumbered || p.grant != nil {
		return l.appendLinked(store, from, nil)
	}
	known := rememberedAt(&from.known.led, l.number)
	if !known.done {
		known.all, known.done = l.appendLinked(store, from, known.all), true
	}
	return known.all
}

// appendLinked appends the objects that the link leads to.
func (l *link) appendLinked(store Store, from subject, dst []*cache.Object) []*cache.Object {
	tuples := l.near.extendComposites(from, []string{""})
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
