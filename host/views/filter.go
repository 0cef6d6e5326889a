package views

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// mayHold reports whether the object satisfies the constants of one of the view's disjuncts. No object doesn't.
func (v *view) mayHold(o *cache.Object) bool {
	return o != nil && slices.ContainsFunc(v.clauses, func(c *clause) bool { return c.conj.holds(wholeObject(o)) })
}

// compileFilter returns what can be in one of the views by their constants alone, nil if that is every object. Its name
// is those constants, in an order of their own.
func compileFilter(m *schema.Message, views []*view) (*cache.Filter, error) {
	byName := map[string]*conj{}
	var names, reads []string
	for _, v := range views {
		for _, c := range v.clauses {
			k := c.conj.constants()
			if k == nil {
				return nil, nil
			}
			k.sortParts()
			name := k.String()
			if byName[name] == nil {
				byName[name] = k
				names = append(names, name)
			}
			reads = k.appendPaths(reads)
		}
	}

	slices.Sort(names)
	any := make([]*conj, len(names))
	for i, name := range names {
		any[i] = byName[name]
	}
	for i, path := range reads {
		reads[i] = wirePath(path)
	}
	mask, err := m.Mask(distinct(reads)...)
	if err != nil {
		return nil, err
	}

	return &cache.Filter{Name: strings.Join(names, "; or "), Reads: mask, Keep: func(o *cache.Object) bool {
		return slices.ContainsFunc(any, func(k *conj) bool { return k.holds(wholeObject(o)) })
	}}, nil
}
