package effects

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/budget"
)

// facts are what a controller's keys have published.
type facts struct {
	memory *budget.Memory

	mu sync.Mutex
	of map[string]*published // by namespace
}

// published are the facts of a namespace, each found under its terms; one that has none is under the empty term.
type published struct {
	all   map[abi.KeyRef]*fact
	terms map[string]map[abi.KeyRef]*fact
}

// fact is never changed.
type fact struct {
	data  []byte
	terms []string
}

// termOverhead is about what the index keeps for each term of a fact.
const termOverhead = 16

// factSize is about what a key's fact takes in memory, in bytes; nil: it has none.
func factSize(key abi.KeyRef, f *fact) int64 {
	if f == nil {
		return 0
	}
	size := len(f.data) + len(key.Resource) + len(key.Namespace) + len(key.Name) + 300
	for _, t := range f.terms {
		size += len(t) + 200
	}
	return int64(size)
}

// publish makes data the key's fact, and with none ends it. Its error says that the plugin's memory doesn't suffice.
func (f *facts) publish(key abi.KeyRef, data []byte, terms []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.of[key.Namespace]
	if in == nil && len(data) == 0 {
		return nil
	}

	if len(terms) == 0 {
		terms = termless
	}
	var old *fact
	if in != nil {
		old = in.all[key]
	}
	if old != nil && bytes.Equal(old.data, data) && slices.Equal(old.terms, terms) {
		return nil
	}

	more := -factSize(key, old)
	if len(data) > 0 {
		more += factSize(key, &fact{data, terms})
	}
	if err := f.memory.Take(budget.Facts, more); err != nil {
		return err
	}

	if in == nil {
		if f.of == nil {
			f.of = map[string]*published{}
		}
		in = &published{all: map[abi.KeyRef]*fact{}, terms: map[string]map[abi.KeyRef]*fact{}}
		f.of[strings.Clone(key.Namespace)] = in
	}

	if old != nil {
		in.remove(key, old)
	}
	if len(data) > 0 {
		in.add(key.Clone(), data, terms)
	}
	if len(in.all) == 0 {
		delete(f.of, key.Namespace)
	}
	return nil
}

var termless = []string{""}

func (p *published) remove(key abi.KeyRef, old *fact) {
	delete(p.all, key)
	for _, t := range old.terms {
		if delete(p.terms[t], key); len(p.terms[t]) == 0 {
			delete(p.terms, t)
		}
	}
}

func (p *published) add(key abi.KeyRef, data []byte, terms []string) {
	f := &fact{data: bytes.Clone(data)}
	p.all[key] = f
	for _, t := range terms {
		t = strings.Clone(t)
		f.terms = append(f.terms, t)
		if p.terms[t] == nil {
			p.terms[t] = map[abi.KeyRef]*fact{}
		}
		p.terms[t][key] = f
	}
}

// inNamespace returns those of a namespace's facts that are under one of the terms or under none, without terms all of
// them, sorted by key.
func (f *facts) inNamespace(namespace string, terms []string) []abi.Fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.of[namespace]
	if p == nil {
		return nil
	}

	var found []abi.Fact
	add := func(facts map[abi.KeyRef]*fact) {
		for key, f := range facts {
			found = append(found, abi.Fact{Key: key, Data: f.data})
		}
	}
	if len(terms) == 0 {
		add(p.all)
	} else {
		add(p.terms[""])
		for _, t := range terms {
			if t != "" {
				add(p.terms[t])
			}
		}
	}

	slices.SortFunc(found, func(a, b abi.Fact) int {
		return cmp.Or(cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.Key.Resource, b.Key.Resource))
	})
	return slices.CompactFunc(found, func(a, b abi.Fact) bool { return a.Key == b.Key })
}

// clear ends all facts.
func (f *facts) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.of {
		for key, x := range in.all {
			f.memory.Add(budget.Facts, -factSize(key, x))
		}
	}
	clear(f.of)
}
