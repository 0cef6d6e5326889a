package views

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
)

// clause is one disjunct of a view's conditions.
type clause struct {
	conj      *conj
	joins     []*join // in the order of the composite
	selectors []*join
	refs      []int // the earlier views that it names
	index     string
	list      bool // all objects: neither constants nor joins
	byName    bool // the joins are the object's own namespace and name

	// The walk back.
	direct      *conj // gives whole keys
	filter      *conj // gives parts of keys, that those which the links lead to must have
	directJoins []*join
	links       []*link
}

// link is the walk back to one earlier view.
type link struct {
	view     int
	near     *conj // on the clause's view, restricted to the joins with the earlier one
	far      *conj // on the earlier view
	selector *join
	rest     []*join // further selectors on the same view
	index    string
	byName   bool
	number   int // links that lead to the same objects have the same
}

// linkNumbers has what each link depends on.
var linkNumbers numbers

func (p *Plan) compileClause(v *view, d *conj) *clause {
	c := &clause{conj: d, joins: d.flatJoins(), index: d.String()}
	for _, j := range d.joins {
		if j.selected {
			c.selectors = append(c.selectors, j)
		}
	}

	c.list = c.index == ""
	c.byName = !v.plan.overAllResources() && isNameIndex(d, c.joins, v.plan.resource.Namespaced)
	var fields []string
	for _, j := range slices.Concat(c.joins, c.selectors) {
		if j.view != abi.FromKey {
			if !slices.Contains(c.refs, j.view) {
				c.refs = append(c.refs, j.view)
			}
			continue
		}
		fields = append(fields, j.viewPath.text)
	}

	slices.Sort(c.refs)
	if v.isKeyView(p) && p.ObjectKeys() {
		return c // the walk back ends here
	}

	links := slices.Clone(c.refs)
	fold := false
	if len(fields) > 0 {
		named := !p.ObjectKeys() || slices.Contains(fields, "name") &&
			(slices.Contains(fields, "namespace") || !p.keyView().plan.resource.Namespaced)
		usesKey := p.ObjectKeys() && slices.Contains(c.refs, int(p.key.View))
		if fold = !named || usesKey; !fold {
			c.direct = d.restrictJoins(func(j *join) bool { return j.view == abi.FromKey })
			c.directJoins = c.direct.flatJoins()
		} else if len(c.refs) > 0 && !usesKey {
			// The other views lead to the keys; the key's object needn't exist, so it is no link.
			fold = false
			c.filter = d.restrictJoins(func(j *join) bool { return j.view == abi.FromKey })
			c.directJoins = c.filter.flatJoins()
		} else if !usesKey {
			links = append(links, int(p.key.View))
		}
	}

	for _, e := range links {
		ours := func(j *join) bool {
			return j.view == e || fold && j.view == abi.FromKey && e == int(p.key.View)
		}
		l := &link{view: e, near: d.restrictJoins(ours), far: &conj{}}
		for _, j := range l.near.flatJoins() {
			l.far.joins = append(l.far.joins, &join{source: p.farSource(e, j)})
		}
		for _, j := range c.selectors {
			if j.view != e {
				continue
			}
			if l.selector == nil {
				l.selector = j
			} else {
				l.rest = append(l.rest, j)
			}
		}
		l.index = l.far.String()
		if l.selector != nil {
			l.index += " ~ " + l.selector.viewPath.text
		}
		l.byName = l.selector == nil && !p.views[e].plan.overAllResources() &&
			isNameIndex(l.far, l.far.joins, p.views[e].plan.resource.Namespaced)
		l.number = linkNumbers.numberOf(l.String(p.views[e].Resource))
		c.links = append(c.links, l)
	}

	return c
}

// String returns what the link depends on.
func (l *link) String(to abi.Resource) string {
	s := fmt.Sprintf("%s, by name: %v, %s → %s", to, l.byName, l.near, l.index)
	if l.selector != nil {
		s += " ~ " + l.selector.text
	}
	for _, j := range l.rest {
		s += ", " + j.viewPath.text + " ~ " + j.text
	}
	return s
}

// farSource is where the earlier view's objects have the value that the join compares with.
func (p *Plan) farSource(e int, j *join) source {
	if j.view != abi.FromKey {
		return j.viewPath
	}
	s, err := newSource(p.views[e].plan.resource.Message, "", "metadata."+j.viewPath.text)
	if err != nil {
		panic(err) // every object has a name and a namespace
	}
	return s
}

// isNameIndex reports whether the composite is an object's own namespace and name, for which the store itself is the
// index.
func isNameIndex(c *conj, joins []*join, namespaced bool) bool {
	if len(c.some) > 0 {
		return false
	}
	metas := ""
	for _, j := range joins {
		metas += string(j.meta)
	}
	if !namespaced {
		return metas == "n"
	}
	return metas == "ns" || metas == "sn"
}

func (c *conj) indexer() cache.Indexer {
	return cache.Indexer{Reads: c.appendPaths([]string{}), Values: func(o *cache.Object) []string {
		return c.extendComposites(wholeObject(o), []string{""})
	}}
}

func (l *link) indexer() cache.Indexer {
	x := l.far.indexer()
	if l.selector == nil {
		return x
	}
	tuples := x.Values
	x.Reads = append(x.Reads, l.selector.viewPath.text)
	x.Values = func(o *cache.Object) []string {
		found := tuples(o)
		if len(found) == 0 {
			return nil
		}
		return product(found, selectorTokens(l.selector.viewPath.path, o.Raw))
	}
	return x
}
