package schema

import (
	"fmt"
	"slices"
)

// Mask is a set of paths that are kept of a message. It is never changed, and safe for concurrent use.
type Mask struct {
	message *Message
	root    *node
}

// node says what is kept of a message. A nil node keeps nothing.
type node struct {
	subs []*node // by field number
	// other keeps the fields beyond subs.
	other bool
	// keys are the keys of a map that are kept; the node is of the map's entries then. Sorted.
	keys []string
	// members are what is kept of JSON; the node is of a field that holds that. Sorted.
	members []member
}

// keep keeps everything.
var keep = &node{other: true}

func (n *node) subNode(number int32) *node {
	if int(number) < len(n.subs) {
		return n.subs[number]
	}
	if n.other {
		return keep
	}
	return nil
}

func (n *node) setSubNode(number int32, sub *node) {
	for int(number) >= len(n.subs) {
		var rest *node
		if n.other {
			rest = keep
		}
		n.subs = append(n.subs, rest)
	}
	n.subs[number] = sub
}

// managedFields is the number of that field in ObjectMeta.
const managedFields = 17

// wholeMetadata keeps an object's metadata without managedFields.
func wholeMetadata() *node {
	n := &node{other: true}
	n.setSubNode(managedFields, nil)
	return n
}

// Mask compiles the paths. A path keeps all below it; "metadata" doesn't keep metadata.managedFields, which must be
// named where it is wanted. A map's key keeps that entry alone, a path through a list keeps all elements, each with
// what is named.
func (m *Message) Mask(paths ...string) (*Mask, error) {
	k := &Mask{message: m, root: &node{}}
	for _, text := range paths {
		p, err := m.Path(text)
		if err != nil {
			return nil, err
		}
		k.root = unionNodes(k.root, p.maskTree())
	}
	return k, nil
}

// Whole keeps the object without metadata.managedFields.
func (m *Message) Whole() *Mask {
	k := &Mask{message: m, root: &node{other: true}}
	if m.object {
		k.root.setSubNode(metadataNumber, wholeMetadata())
	}
	return k
}

// maskTree returns the mask's tree for one path.
func (p *Path) maskTree() *node {
	end := keep
	steps := p.steps
	for i := len(p.members) - 1; i >= 0; i-- {
		end = &node{members: []member{{p.members[i], end}}}
	}

	switch {
	case p.derived:
		steps = steps[:2] // owner references are kept whole
	case p.message.object && len(steps) == 1 && steps[0].number == metadataNumber:
		end = wholeMetadata()
	}

	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		switch {
		case s.keyed:
			end = &node{keys: []string{s.key}} // the entry is kept whole
		case s.entry:
			entry := &node{}
			entry.setSubNode(1, keep)
			entry.setSubNode(2, end)
			end = entry
		}
		outer := &node{}
		outer.setSubNode(s.number, end)
		end = outer
	}

	return end
}

func unionNodes(a, b *node) *node {
	switch {
	case a == b || b == nil || a == keep:
		return a
	case a == nil || b == keep:
		return b
	case a.keys != nil && b.keys != nil:
		keys := slices.Concat(a.keys, b.keys)
		slices.Sort(keys)
		return &node{keys: slices.Compact(keys)}
	case a.members != nil && b.members != nil:
		return unionMembers(a, b)
	case a.keys != nil || b.keys != nil || a.members != nil || b.members != nil:
		return keep
	}
	u := &node{other: a.other || b.other}
	for i := range int32(max(len(a.subs), len(b.subs))) {
		u.setSubNode(i, unionNodes(a.subNode(i), b.subNode(i)))
	}
	return u
}

// Union returns the mask that keeps what either keeps. Both must be masks of the same message.
func (k *Mask) Union(other *Mask) *Mask {
	if other == nil {
		return k
	}
	return &Mask{message: k.message, root: unionNodes(k.root, other.root)}
}

// Without returns the mask without what is at and below the path.
func (k *Mask) Without(path string) (*Mask, error) {
	p, err := k.message.Path(path)
	if err != nil {
		return nil, err
	}
	for _, s := range p.steps {
		if s.keyed || s.entry || s.controlling || p.members != nil {
			return nil, fmt.Errorf("path %q: nothing in JSON, below a map or a derived path can be left out", path)
		}
	}
	return &Mask{message: k.message, root: without(k.root, p.steps)}, nil
}

func without(n *node, steps []step) *node {
	if n == nil || len(steps) == 0 {
		return nil
	}
	c := &node{subs: slices.Clone(n.subs), other: n.other}
	c.setSubNode(steps[0].number, without(n.subNode(steps[0].number), steps[1:]))
	return c
}

// Covers reports whether everything that the other mask keeps is kept.
func (k *Mask) Covers(other *Mask) bool { return coversNode(k.root, other.root) }

func coversNode(a, b *node) bool {
	switch {
	case b == nil || a == b || a == keep:
		return true
	case a == nil:
		return false
	case a.keys != nil && b.keys != nil:
		for _, key := range b.keys {
			if _, ok := slices.BinarySearch(a.keys, key); !ok {
				return false
			}
		}
		return true
	case a.members != nil && b.members != nil:
		return coversMembers(a, b)
	case a.keys != nil || b.keys != nil || a.members != nil || b.members != nil:
		return false
	case b.other && !a.other:
		return false
	}
	for i := range int32(max(len(a.subs), len(b.subs))) {
		if !coversNode(a.subNode(i), b.subNode(i)) {
			return false
		}
	}
	return true
}

// Keeps reports whether all that is at and below the path is kept; of "metadata", managedFields aside. A path that
// doesn't exist isn't kept.
func (k *Mask) Keeps(path string) bool {
	p, err := k.message.Path(path)
	return err == nil && coversNode(k.root, p.maskTree())
}

// Message is what the mask is for.
func (k *Mask) Message() *Message { return k.message }
