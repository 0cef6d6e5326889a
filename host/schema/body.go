package schema

import (
	"bytes"
	"slices"
	"strings"
)

// anyJSON is the message of values in JSON, of which no schema is known: every path leads somewhere.
var anyJSON = &Message{Name: "JSON", json: true}

// body is all of an object that isn't built in but its metadata; paths name its members as those of the object.
var body = &Field{Number: bodyNumber, JSON: "*", Kind: JSON, Message: anyJSON}

// rawField is the JSON in a RawExtension.
var rawField = &Field{Number: 1, Kind: JSON, Message: anyJSON}

// collectJSON appends what the members lead to below the value at b[i:], through lists to what is below each element,
// and gives where the value ends. As text they are scalars without null, else values of any kind without null, those of
// a list one by one.
func collectJSON(dst [][]byte, b []byte, i int, members []string, text bool, depth int) (_ [][]byte, end int,
	err error) {
	if i >= len(b) || b[i] != '[' && (b[i] != '{' || len(members) == 0) {
		if end, err = skipValue(b, i, depth); err != nil || len(members) > 0 {
			return dst, end, err
		}
		switch v := b[i:end:end]; {
		case v[0] == 'n', text && v[0] == '{':
		case text && v[0] == '"':
			dst = append(dst, unquoted(v[1:len(v)-1:len(v)-1]))
		default:
			dst = append(dst, v)
		}
		return dst, end, nil
	}

	for w := walkValue(b, i, depth); ; {
		more, err := w.next()
		if err != nil || !more {
			return dst, w.at, err
		}
		switch {
		case b[i] == '[':
			dst, w.at, err = collectJSON(dst, b, w.value, members, text, w.depth)
		case isNamed(w.name, members[0]):
			dst, w.at, err = collectJSON(dst, b, w.value, members[1:], text, w.depth)
		default:
			w.at, err = skipValue(b, w.value, w.depth)
		}
		if err != nil {
			return dst, 0, err
		}
	}
}

// collectBody is collectJSON of a text.
func collectBody(dst [][]byte, b []byte, members []string, text bool) ([][]byte, error) {
	dst, end, err := collectJSON(dst, b, skipSpace(b, 0), members, text, 0)
	if err == nil {
		err = expectEnd(b, end)
	}
	return dst, err
}

// member is what is kept of a member of an object in JSON.
type member struct {
	name string
	node *node
}

func (n *node) memberNode(name []byte) *node {
	for i := range n.members {
		if isNamed(name, n.members[i].name) {
			return n.members[i].node
		}
	}
	return nil
}

// unionMembers are the members that either node keeps.
func unionMembers(a, b *node) *node {
	u := &node{members: slices.Clone(a.members)}
	for _, m := range b.members {
		i, found := slices.BinarySearchFunc(u.members, m.name, func(x member, name string) int {
			return strings.Compare(x.name, name)
		})
		if found {
			u.members[i].node = unionNodes(u.members[i].node, m.node)
		} else {
			u.members = slices.Insert(u.members, i, m)
		}
	}
	return u
}

func coversMembers(a, b *node) bool {
	for _, m := range b.members {
		if !coversNode(a.memberNode([]byte(m.name)), m.node) {
			return false
		}
	}
	return true
}

// projectBody appends what is kept of a text.
func (n *node) projectBody(dst, b []byte) ([]byte, error) {
	dst, end, err := n.projectJSON(dst, b, skipSpace(b, 0), 0)
	if err == nil {
		err = expectEnd(b, end)
	}
	return dst, err
}

// projectJSON appends what is kept of the value at b[i:], and returns where that ends. Objects and lists stay, though
// nothing may be left in them, and lists as long as they are; so do scalars, which have nothing below them.
func (n *node) projectJSON(dst, b []byte, i, depth int) (_ []byte, end int, err error) {
	if n == keep || !container(b, i) {
		if end, err = skipValue(b, i, depth); err == nil {
			dst = append(dst, b[i:end]...)
		}
		return dst, end, err
	}

	dst = append(dst, b[i])
	first := len(dst)
	for w := walkValue(b, i, depth); ; {
		more, err := w.next()
		if err != nil {
			return dst, 0, err
		}
		if !more {
			return append(dst, w.end), w.at, nil
		}

		sub := n
		if w.end == '}' {
			// A scalar has nothing below it that could be kept.
			if sub = n.memberNode(w.name); sub == nil || sub != keep && !container(b, w.value) {
				if w.at, err = skipValue(b, w.value, w.depth); err != nil {
					return dst, 0, err
				}
				continue
			}
		}

		if len(dst) > first {
			dst = append(dst, ',')
		}
		if w.end == '}' {
			dst = append(append(append(dst, '"'), w.name...), '"', ':')
		}
		if dst, w.at, err = sub.projectJSON(dst, b, w.value, w.depth); err != nil {
			return dst, 0, err
		}
	}
}

// below is a leaf of a member.
type below struct {
	name string
	leaf *leaf
}

// memberLeaf returns the leaf of a member, which is made where there is none.
func (l *leaf) memberLeaf(name string) *leaf {
	for i := range l.members {
		if l.members[i].name == name {
			return l.members[i].leaf
		}
	}
	sub := &leaf{}
	l.members = append(l.members, below{name, sub})
	return sub
}

// changedJSON compares two values.
func (l *leaf) changedJSON(a, b []byte, bits Bits) error {
	if bytes.Equal(a, b) {
		return nil
	}
	bits.or(l.own)
	if len(l.members) == 0 {
		return nil
	}

	i, j := skipSpace(a, 0), skipSpace(b, 0)
	if !container(a, i) || !container(b, j) || a[i] != b[j] {
		bits.or(l.all)
		return nil
	}
	if a[i] == '[' {
		return l.changedElements(walkValue(a, i, 0), walkValue(b, j, 0), bits)
	}

	for _, m := range l.members {
		x, err := memberOf(a, i, m.name)
		if err != nil {
			return err
		}
		y, err := memberOf(b, j, m.name)
		if err != nil {
			return err
		}
		switch {
		case x == nil && y == nil:
		case x == nil || y == nil:
			bits.or(m.leaf.all)
		default:
			if err := m.leaf.changedJSON(x, y, bits); err != nil {
				return err
			}
		}
	}

	return nil
}

// changedElements compares element by element; where there are more on one side, all paths differ.
func (l *leaf) changedElements(a, b walk, bits Bits) error {
	for {
		x, err := a.next()
		if err != nil {
			return err
		}
		y, err := b.next()
		if err != nil {
			return err
		}
		if !x || !y {
			if x != y {
				bits.or(l.all)
			}
			return nil
		}
		if a.at, err = skipValue(a.b, a.value, a.depth); err != nil {
			return err
		}
		if b.at, err = skipValue(b.b, b.value, b.depth); err != nil {
			return err
		}
		if err := l.changedJSON(a.b[a.value:a.at], b.b[b.value:b.at], bits); err != nil {
			return err
		}
	}
}

// memberOf returns the value of a member of the object at b[i:], nil without one. What comes after it isn't looked at.
func memberOf(b []byte, i int, name string) ([]byte, error) {
	for w := walkValue(b, i, 0); ; {
		more, err := w.next()
		if err != nil || !more {
			return nil, err
		}
		if w.at, err = skipValue(b, w.value, w.depth); err != nil {
			return nil, err
		}
		if isNamed(w.name, name) {
			return b[w.value:w.at], nil
		}
	}
}
