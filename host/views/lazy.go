package views

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// Bounds of what one sync may ask of lazy views.
const (
	asksMax  = 1000
	namesMax = 10000 // names or values in one ask
)

const namespaceIndex = "metadata.namespace"

var byNamespace = &conj{joins: []*join{{source: source{text: namespaceIndex, meta: 's'}}}}

// ask is a question with its paths resolved.
type ask struct {
	view      int
	namespace string
	names     []string
	values    []string
	path      *source
	indexed   bool
	selector  []byte
	selects   bool
	needed    []byte // what an object has if the selector matches it
	labels    *schema.Path
}

// Ask delivers a lazy view, narrowed as asked, and subscribes the key to it until its next snapshot: a change of what
// was asked for wakes it, unless the view is quiet.
func (s *Snapshot) Ask(a *abi.Ask) (abi.ViewData, error) {
	p := s.x.plan
	data := abi.ViewData{View: a.View}
	q, err := p.compileAsk(a)
	if err != nil {
		return data, fmt.Errorf("controller %s: ask: %w", p.controller, err)
	}
	if s.asks++; s.asks > asksMax {
		return data, fmt.Errorf("controller %s: more than %d asks in one sync; ask for many names at once",
			p.controller, asksMax)
	}

	v := p.views[a.View]
	if !v.quietAll || v.feeds {
		p.subs.add(s.x.key, q) // before the caches are read: no change falls in between
	}
	data.StoreVersion = s.x.world.Store(v.Resource).Version()
	if !s.x.guardHolds(v) {
		data.Guarded = true
		return data, nil
	}

	if !v.Partial {
		s.x.checkCurrency(v, v.Resource)
	}
	rows := s.x.answerAsk(v, q)
	s.x.checkRows(v, rows)
	if young := s.x.young; young != nil {
		s.x.young = nil // the plugin may ask something else
		return abi.ViewData{View: a.View}, fmt.Errorf("controller %s: ask: %w", p.controller, young)
	}
	if a.Count {
		data.Count = int64(len(rows))
		return data, nil
	}
	if v.First > 0 {
		data.Count = int64(len(rows))
	}
	if data.Objects, err = s.project(v, rows, nil); err != nil {
		return abi.ViewData{View: a.View}, err
	}

	s.asked = append(s.asked, rows...)
	return data, nil
}

// compileAsk checks a question and makes it ready to be evaluated.
func (p *Plan) compileAsk(a *abi.Ask) (*ask, error) {
	if a.View < 0 || int(a.View) >= len(p.views) {
		return nil, fmt.Errorf("there is no view %d", a.View)
	}
	v := p.views[a.View]
	if !v.Lazy {
		return nil, fmt.Errorf("view %s isn't lazy: its objects are in the request", v.Name)
	}
	if n := len(a.Names) + len(a.Values); n > namesMax {
		return nil, fmt.Errorf("view %s: %d names and values, the limit is %d", v.Name, n, namesMax)
	}

	// The question's strings may point into a buffer that the next call reuses; the subscription outlives it.
	q := &ask{view: int(a.View), namespace: strings.Clone(a.Namespace), names: cloneStrings(a.Names),
		values: cloneStrings(a.Values)}
	m := v.plan.resource.Message
	if a.Path != "" {
		if i := slices.IndexFunc(v.asks, func(s source) bool { return s.text == a.Path }); i >= 0 {
			q.path, q.indexed = &v.asks[i], true
		} else {
			s, err := sourceAt(m, "", strings.Clone(a.Path)) // as above
			if err != nil {
				return nil, fmt.Errorf("view %s: %w", v.Name, err)
			}
			if !covered(v.plan, a.Path) {
				return nil, fmt.Errorf("view %s: path %s is neither in askBy nor in the fields", v.Name, a.Path)
			}
			q.path = &s
		}
	} else if len(a.Values) > 0 {
		return nil, fmt.Errorf("view %s: values without a path", v.Name)
	}

	if a.Selector != nil {
		if !covered(v.plan, "metadata.labels") {
			return nil, fmt.Errorf("view %s: asked by selector, but metadata.labels is not in its fields", v.Name)
		}
		var err error
		if q.labels, err = m.Path("metadata.labels"); err != nil {
			return nil, err
		}
		q.selects, q.selector = true, slices.Clone(a.Selector)
		q.needed = neededText(q.selector)
	}

	return q, nil
}

func cloneStrings(s []string) []string {
	c := make([]string, len(s))
	for i := range s {
		c[i] = strings.Clone(s[i])
	}
	return c
}

// answerAsk evaluates a lazy view for a question.
func (x *evaluation) answerAsk(v *view, q *ask) []*cache.Object {
	store := x.world.Store(v.Resource)
	var found []*cache.Object
	switch {
	case len(q.names) > 0 && (q.namespace != "" || !v.plan.resource.Namespaced):
		for _, n := range q.names {
			if o := store.Get(q.namespace, n); o != nil && x.belongs(v, o) {
				found = append(found, o)
			}
		}
	case q.indexed:
		for _, value := range q.values {
			for _, o := range store.ByIndex(q.path.text, string(appendPart(nil, []byte(value)))) {
				if x.belongs(v, o) {
					found = append(found, o)
				}
			}
		}
	case q.namespace != "" && len(v.clauses) == 1 && v.clauses[0].list && len(v.clauses[0].refs) == 0:
		found = store.ByIndex(namespaceIndex, string(appendPart(nil, []byte(q.namespace))))
	default:
		found = x.matching(v, nil)
	}

	kept := found[:0]
	for _, o := range found {
		if q.coversObject(o) {
			kept = append(kept, o)
		}
	}
	return sortObjects(kept)
}

// coversObject reports whether the question, the view's own conditions aside, covers the object.
func (q *ask) coversObject(o *cache.Object) bool {
	if q.namespace != "" && o.Namespace != q.namespace || len(q.names) > 0 && !slices.Contains(q.names, o.Name) {
		return false
	}
	if q.path != nil {
		var room [8][]byte
		if !slices.ContainsFunc(q.path.appendValues(room[:0], wholeObject(o)), func(b []byte) bool {
			return slices.Contains(q.values, string(b))
		}) {
			return false
		}
	}
	if q.selects {
		if !bytes.Contains(o.Raw, q.needed) {
			return false
		}
		labels, err := q.labels.Raw(make([][]byte, 0, 4), o.Raw)
		return err == nil && matches(q.selector, labels)
	}
	return true
}

// belongs reports whether the object satisfies the view's conditions for the key.
func (x *evaluation) belongs(v *view, o *cache.Object) bool {
	return slices.ContainsFunc(v.clauses, func(c *clause) bool { return x.fitsClause(c, o, 0) })
}

// fitsClause tests one object against a clause for each combination of earlier objects, from the n-th reference on.
func (x *evaluation) fitsClause(c *clause, o *cache.Object, n int) bool {
	if n < len(c.refs) {
		for _, e := range x.viewRows(c.refs[n]) {
			x.picks[c.refs[n]] = e
			if x.fitsClause(c, o, n+1) {
				return true
			}
		}
		return false
	}
	composites := []string{""}
	for _, j := range c.joins {
		if composites = product(composites, x.appendWanted(nil, j)); len(composites) == 0 {
			return false
		}
	}
	for _, t := range c.conj.extendComposites(wholeObject(o), []string{""}) {
		if slices.Contains(composites, t) {
			return len(x.appendSelected(c, []*cache.Object{o}, nil)) > 0
		}
	}
	return false
}

// subscriptions are what keys asked of lazy views in their last sync.
type subscriptions struct {
	mu   sync.Mutex
	keys map[abi.KeyRef][]*ask
	view map[int]map[abi.KeyRef]struct{}
}

func (s *subscriptions) add(key abi.KeyRef, q *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys, s.view = map[abi.KeyRef][]*ask{}, map[int]map[abi.KeyRef]struct{}{}
	}
	s.keys[key] = append(s.keys[key], q)
	if s.view[q.view] == nil {
		s.view[q.view] = map[abi.KeyRef]struct{}{}
	}
	s.view[q.view][key] = struct{}{}
}

func (s *subscriptions) dropKey(key abi.KeyRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.keys[key] {
		delete(s.view[q.view], key)
	}
	delete(s.keys, key)
}

// nobodyAsked reports whether no key has asked the view.
func (s *subscriptions) nobodyAsked(v *view) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.view[v.index]) == 0
}

// visitAskingKeys calls f for each key that asked the view for the event's old or new object.
func (s *subscriptions) visitAskingKeys(v *view, e cache.Event, f func(abi.KeyRef)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.view[v.index] {
		if s.asksForLocked(k, v, e) {
			f(k)
		}
	}
}

// asksFor reports whether the key asked the view for the event's old or new object.
func (s *subscriptions) asksFor(k abi.KeyRef, v *view, e cache.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asksForLocked(k, v, e)
}

func (s *subscriptions) asksForLocked(k abi.KeyRef, v *view, e cache.Event) bool {
	return slices.ContainsFunc(s.keys[k], func(q *ask) bool {
		return q.view == v.index && (e.Old != nil && q.coversObject(e.Old) || e.New != nil && q.coversObject(e.New))
	})
}
