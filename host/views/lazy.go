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
	resource  abi.Resource // that a view over all resources is asked for; in any version
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

	of := v.Resource
	if v.plan.overAllResources() {
		var ok bool
		if of, ok = s.x.resourceAsked(q); !ok || v.Lenient && s.x.isLost(of) {
			data.Unlisted = s.x.unknownGroup(v, q.resource.Group)
			data.Unserved = len(data.Unlisted) == 0 && s.x.young == nil
			return data, s.tooYoung()
		}
	}
	if !v.Partial {
		if data.Unlisted = s.x.checkAsked(v, of); len(data.Unlisted) > 0 {
			return data, nil
		}
	}

	rows := s.x.answerAsk(v, q, of)

	if !(a.Count || v.Distinct) || !v.findsOnce(q) {
		rows = sortObjects(rows)
	}
	s.x.checkRows(v, rows)
	if err := s.tooYoung(); err != nil {
		return abi.ViewData{View: a.View}, err
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

	if !v.Distinct { // else they have no name to be written by
		s.asked = append(s.asked, rows...)
	}
	return data, nil
}

// tooYoung returns why a question can't be answered yet, once: the plugin may ask something else.
func (s *Snapshot) tooYoung() error {
	young := s.x.young
	if young == nil {
		return nil
	}
	s.x.young = nil
	return fmt.Errorf("controller %s: ask: %w", s.x.plan.controller, young)
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
	q.resource.Name, q.resource.Group, _ = strings.Cut(strings.Clone(a.Resource), ".")
	switch all := v.plan.overAllResources(); {
	case all && a.Resource == "":
		return nil, fmt.Errorf("view %s is over all resources: the question must name one, such as deployments.apps", v.Name)
	case !all && a.Resource != "":
		return nil, fmt.Errorf("view %s is of %s: the question can't name a resource", v.Name, v.Resource)
	case all && a.Fresh:
		return nil, fmt.Errorf("view %s is over all resources: it can't be asked for what is fresh", v.Name)
	}
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

// resourceAsked returns the resource that a view over all of them is asked for; not ok if there is none whose objects
// may be seen, or if the question is about a namespace and they are in none.
func (x *evaluation) resourceAsked(q *ask) (r abi.Resource, ok bool) {
	joint, _ := uncovered(x.world.Store(schema.Any)).(Joint)
	part := joint.anyVersion(q.resource)
	if part == nil || q.namespace != "" && !part.Resource.Namespaced || !x.plan.Reads(part.Resource.Resource) {
		return r, false
	}
	return part.Resource.Resource, true
}

// isLost reports whether a resource isn't served while its objects are kept.
func (x *evaluation) isLost(r abi.Resource) bool { return x.currency != nil && x.currency.Lost(r) }

// unknownGroup returns what a lenient view goes on without of a group of which discovery has told nothing yet: a
// resource that isn't known may be one of its. Until the view has waited it is young.
func (x *evaluation) unknownGroup(v *view, group string) (unlisted []string) {
	if !v.Lenient || x.currency == nil {
		return nil
	}
	of := func(r abi.Resource) bool { return r.Group == group && r.Name == schema.Any.Name }
	lacking, young, wait := x.currency.Lacking()
	if i := slices.IndexFunc(lacking, of); i >= 0 {
		return []string{lacking[i].String()}
	}
	if wait > 0 && of(young) {
		x.young = &Young{View: v.Name, Resource: young, Wait: wait}
	}
	return nil
}

// checkAsked notes that a question looks into a store that isn't current. A lenient view answers without it, when it
// has waited: unlisted is what it lacks then.
func (x *evaluation) checkAsked(v *view, r abi.Resource) (unlisted []string) {
	if !v.Lenient {
		x.checkCurrency(v, r)
		return nil
	}
	if x.currency == nil || x.young != nil {
		return nil
	}
	young, ok := x.currency.Current(r)
	if ok {
		return nil
	}
	lacking, _, wait := x.currency.Lacking()
	if slices.Contains(lacking, young) {
		return []string{young.String()}
	}
	x.young = &Young{View: v.Name, Resource: young, Wait: wait}
	return nil
}

// findsOnce reports whether no object is found twice for the question.
func (v *view) findsOnce(q *ask) bool {
	return len(q.names) == 0 && q.path == nil && len(v.clauses) == 1 && len(v.clauses[0].refs) == 0
}

// answerAsk evaluates a lazy view for a question, over the objects of one resource, in any order, some perhaps twice.
func (x *evaluation) answerAsk(v *view, q *ask, of abi.Resource) []*cache.Object {
	store := x.world.Store(of)
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
		found = x.combineClauses(v, store, nil)
	}

	kept := found[:0]
	for _, o := range found {
		if q.coversObject(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// coversObject reports whether the question, the view's own conditions aside, covers the object.
func (q *ask) coversObject(o *cache.Object) bool {
	if q.resource.Name != "" && !sameResource(q.resource, o.Resource.Resource) {
		return false
	}
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

// dropAll forgets all keys.
func (s *subscriptions) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.view = nil, nil
}

// nobodyAsked reports whether no key has asked the view.
func (s *subscriptions) nobodyAsked(v *view) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.view[v.index]) == 0
}

// visitAskingKeys calls f for each key that asksFor is true of.
func (s *subscriptions) visitAskingKeys(v *view, e cache.Event, content bool, f func(abi.KeyRef)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.view[v.index] {
		if s.asksForLocked(k, v, e, content) {
			f(k)
		}
	}
}

// asksFor reports whether the key asked the view for the event's old or new object; where the object's content is the
// same, for only one of them.
func (s *subscriptions) asksFor(k abi.KeyRef, v *view, e cache.Event, content bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asksForLocked(k, v, e, content)
}

func (s *subscriptions) asksForLocked(k abi.KeyRef, v *view, e cache.Event, content bool) bool {
	return slices.ContainsFunc(s.keys[k], func(q *ask) bool {
		if q.view != v.index {
			return false
		}
		was, is := e.Old != nil && q.coversObject(e.Old), e.New != nil && q.coversObject(e.New)
		return was != is || content && was
	})
}
