package views

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/schema"
)

// most bounds the disjuncts of one view: and over or multiplies.
const most = 64

// normaliser brings a condition into disjunctive normal form.
type normaliser struct {
	// link makes a join of the condition, or says why it can't be one.
	link func(c *abi.Condition, s source) (*join, error)
}

// disjuncts returns the disjuncts of the condition, or of its negation, on messages of the type. A nil condition always
// holds.
func (n *normaliser) disjuncts(c *abi.Condition, m *schema.Message, prefix string, not bool) ([]*conj, error) {
	if c == nil {
		return []*conj{{}}, nil
	}
	if err := wellFormed(c); err != nil {
		return nil, err
	}

	not = not != c.Not
	switch {
	case len(c.All) > 0 || len(c.Any) > 0:
		parts, or := c.All, false
		if len(c.Any) > 0 {
			parts, or = c.Any, true
		}
		var each [][]*conj
		for i := range parts {
			d, err := n.disjuncts(&parts[i], m, prefix, not)
			if err != nil {
				return nil, err
			}
			each = append(each, d)
		}
		return combine(each, or != not, (*conj).and)
	case c.Each:
		list, err := newSource(m, prefix, c.Path)
		if err != nil {
			return nil, err
		}
		element := list.path.Message()
		if element == nil {
			return nil, fmt.Errorf("each: %s has no fields of its own; test it with %s instead", c.Path, abi.OpIn)
		}
		inner, err := n.disjuncts(c.Where, element, list.text+".", false)
		if err != nil {
			return nil, err
		}
		var all []*conj
		none := &conj{}
		for _, d := range inner {
			d.list = &list
			if not {
				if len(d.flatJoins()) > 0 {
					return nil, fmt.Errorf("each %s: a negated each can compare with constants only", c.Path)
				}
				none.none = append(none.none, d)
				continue
			}
			all = append(all, &conj{some: []*conj{d}})
		}
		if not {
			return []*conj{none}, nil
		}
		return all, nil
	}

	path := c.Path
	if c.Op == abi.OpSelected && path == "" {
		path = "metadata.labels"
	}
	s, err := newSource(m, prefix, path)
	if err != nil {
		return nil, err
	}

	switch c.Op {
	case abi.OpExists:
		return []*conj{{tests: []test{{source: s, exists: true, not: not}}}}, nil
	case abi.OpIn:
		if len(c.Values) == 0 {
			return nil, fmt.Errorf("%s in: no values", path)
		}
		t := test{source: s, not: not}
		for _, v := range c.Values {
			if v == "" {
				return nil, fmt.Errorf("%s in: an empty string counts as no value; use not exists", path)
			}
			t.values = append(t.values, []byte(v))
		}
		return []*conj{{tests: []test{t}}}, nil
	case abi.OpJoin, abi.OpSelected:
		if not {
			return nil, fmt.Errorf("not %s %s: only comparisons with constants can be negated", path, c.Op)
		}
		if c.Op == abi.OpSelected && prefix != "" {
			return nil, fmt.Errorf("%s selected: labels of list elements can't be selected", path)
		}
		j, err := n.link(c, s)
		if err != nil {
			return nil, err
		}
		return []*conj{{joins: []*join{j}}}, nil
	}

	return nil, fmt.Errorf("%s: unknown op %q; there are %s, %s, %s, %s",
		path, c.Op, abi.OpIn, abi.OpExists, abi.OpJoin, abi.OpSelected)
}

// combine joins lists of disjuncts with or, or multiplies them out with and.
func combine[T any](each [][]T, or bool, and func(a, b T) T) ([]T, error) {
	if or {
		all := slices.Concat(each...)
		if len(all) > most {
			return nil, fmt.Errorf("more than %d alternatives; split the view", most)
		}
		return all, nil
	}
	all := each[0]
	for _, d := range each[1:] {
		var next []T
		for _, a := range all {
			for _, b := range d {
				next = append(next, and(a, b))
			}
		}
		if len(next) > most {
			return nil, fmt.Errorf("more than %d alternatives when multiplied out; split the view", most)
		}
		all = next
	}
	return all, nil
}

func wellFormed(c *abi.Condition) error {
	n := 0
	for _, set := range []bool{len(c.All) > 0, len(c.Any) > 0, c.Each, c.Op != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("condition at path %q: exactly one of all, any, each, op must be set, there are %d", c.Path, n)
	}
	if c.Path == "" && (c.Each || c.Op != "" && c.Op != abi.OpSelected) {
		return fmt.Errorf("condition %s: no path", c.Op)
	}
	return nil
}

// term is what a guard says of one earlier view: it holds an object that satisfies the conjunction, or, negated, it
// holds no object.
type term struct {
	view  int
	conj  *conj
	empty bool
}

type guard [][]term

// guardDNF brings a guard into disjunctive normal form; tests on the same view end up in one term, so that they hold
// for the same object.
func guardDNF(c *abi.Condition, types func(view int32) (*schema.Message, error), not bool) (guard, error) {
	if c == nil {
		return nil, nil
	}
	not = not != c.Not
	if len(c.All) > 0 || len(c.Any) > 0 {
		if err := wellFormed(c); err != nil {
			return nil, err
		}
		parts, or := c.All, false
		if len(c.Any) > 0 {
			parts, or = c.Any, true
		}
		var each [][][]term
		for i := range parts {
			d, err := guardDNF(&parts[i], types, not)
			if err != nil {
				return nil, err
			}
			each = append(each, d)
		}
		return combine(each, or != not, andTerms)
	}

	m, err := types(c.View)
	if err != nil {
		return nil, err
	}

	view := int(c.View)
	if c.Op == abi.OpExists && c.Path == "" {
		return guard{{{view: view, conj: &conj{}, empty: not}}}, nil
	}

	n := normaliser{link: func(c *abi.Condition, s source) (*join, error) {
		return nil, fmt.Errorf("%s %s: a guard compares with constants only", s.text, c.Op)
	}}
	plain := *c
	plain.Not = false
	disjuncts, err := n.disjuncts(&plain, m, "", not)
	if err != nil {
		return nil, err
	}

	var g guard
	for _, d := range disjuncts {
		g = append(g, []term{{view: view, conj: d}})
	}
	return g, nil
}

func andTerms(a, b []term) []term {
	all := slices.Clone(a)
	for _, t := range b {
		i := slices.IndexFunc(all, func(x term) bool { return x.view == t.view && !x.empty && !t.empty })
		if i < 0 {
			all = append(all, t)
			continue
		}
		all[i].conj = all[i].conj.and(t.conj)
	}
	return all
}
