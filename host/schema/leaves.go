package schema

import (
	"bytes"
	"fmt"

	"github.com/windlass-dev/windlass/abi/wire"
)

// Leaves finds which of a set of paths differ between two versions of an object. It is safe for concurrent use.
type Leaves struct {
	message *Message
	paths   []string
	root    *leaf
}

// leaf is a message, or a value in JSON, on the way to paths, or at the end of some.
type leaf struct {
	subs []*leaf // by field number
	own  Bits    // the paths that end here: any difference is theirs
	all  Bits    // own, and the paths that end below
	keys []keyed // paths to single entries of a map
	// members of an object in JSON
	members []below
	// object's metadata: resource version and managedFields aren't differences.
	metadata bool
}

type keyed struct {
	key  string
	bits Bits
}

// Leaves compiles the paths; bit i is paths[i]. Of "metadata" neither the resource version nor managedFields count.
// Derived paths are owner references.
func (m *Message) Leaves(paths []string) (*Leaves, error) {
	l := &Leaves{message: m, paths: paths, root: &leaf{}}
	for i, text := range paths {
		p, err := m.Path(text)
		if err != nil {
			return nil, err
		}
		l.root.addPath(p, i)
	}
	return l, nil
}

func (l *leaf) addPath(p *Path, bit int) {
	steps := p.steps
	if p.derived {
		steps = steps[:2]
	}

	for depth, s := range steps {
		l.all.Set(bit)
		for int(s.number) >= len(l.subs) {
			l.subs = append(l.subs, nil)
		}
		if l.subs[s.number] == nil {
			l.subs[s.number] = &leaf{metadata: depth == 0 && p.message.object && s.number == metadataNumber}
		}
		l = l.subs[s.number]
		if s.keyed {
			l.all.Set(bit)
			for i := range l.keys {
				if l.keys[i].key == s.key {
					l.keys[i].bits.Set(bit)
					return
				}
			}
			k := keyed{key: s.key}
			k.bits.Set(bit)
			l.keys = append(l.keys, k)
			return
		}
		if s.entry {
			l.all.Set(bit)
			l.own.Set(bit)
			return // a difference in any entry
		}
	}

	for _, name := range p.members {
		l.all.Set(bit)
		l = l.memberLeaf(name)
	}
	l.all.Set(bit)
	l.own.Set(bit)
}

// Paths returns the paths by bit.
func (l *Leaves) Paths() []string { return l.paths }

// Changed sets bits to the paths whose bytes differ. Where an object has its fields in another order than Kubernetes
// writes them, or elements were added to or removed from a list, more may be set than differ. An absent object is one
// without bytes.
func (l *Leaves) Changed(old, new []byte, bits *Bits) error {
	bits.Reset(len(l.paths))
	if bytes.Equal(old, new) {
		return nil
	}
	if err := l.root.changed(old, new, *bits); err != nil {
		return fmt.Errorf("%s: %w", l.message.Name, err)
	}
	return nil
}

// run is the next fields of a message that have the same number.
type run struct {
	b          []byte
	number     int32 // 0 at the end
	start, end int
	f          field
	// disorder tells that a field came after one with a higher number.
	disorder bool
}

func (r *run) next() error {
	before := r.number
	r.start = r.end
	if r.end == len(r.b) {
		r.number = 0
		return nil
	}
	if err := r.f.next(r.b, r.end); err != nil {
		return err
	}
	r.number, r.end = r.f.number, r.f.end
	r.disorder = r.disorder || r.number <= before
	for r.end < len(r.b) {
		if err := r.f.next(r.b, r.end); err != nil {
			return err
		}
		if r.f.number != r.number {
			break
		}
		r.end = r.f.end
	}
	return nil
}

func (l *leaf) changed(old, new []byte, bits Bits) error {
	a, b := run{b: old}, run{b: new}
	if err := a.next(); err != nil {
		return err
	}
	if err := b.next(); err != nil {
		return err
	}

	for a.number != 0 || b.number != 0 {
		if a.disorder || b.disorder {
			bits.or(l.all)
			return nil
		}

		switch {
		case b.number == 0 || a.number != 0 && a.number < b.number:
			l.noteAbsent(a.number, bits)
			if err := a.next(); err != nil {
				return err
			}
		case a.number == 0 || b.number < a.number:
			l.noteAbsent(b.number, bits)
			if err := b.next(); err != nil {
				return err
			}
		default:
			if err := l.compareRuns(a.number, old[a.start:a.end], new[b.start:b.end], bits); err != nil {
				return err
			}
			if err := a.next(); err != nil {
				return err
			}
			if err := b.next(); err != nil {
				return err
			}
		}
	}

	return nil
}

const resourceVersion = 6 // of ObjectMeta

// differs counts a difference in the field as one of the paths that end at the message.
func (l *leaf) differs(number int32, bits Bits) {
	if !l.metadata || number != resourceVersion && number != managedFields {
		bits.or(l.own)
	}
}

// noteAbsent takes note of a field that only one side has.
func (l *leaf) noteAbsent(number int32, bits Bits) {
	l.differs(number, bits)
	if sub := l.subLeaf(number); sub != nil {
		bits.or(sub.all)
	}
}

func (l *leaf) subLeaf(number int32) *leaf {
	if int(number) < len(l.subs) {
		return l.subs[number]
	}
	return nil
}

// compareRuns compares the runs of one field that both sides have.
func (l *leaf) compareRuns(number int32, a, b []byte, bits Bits) error {
	sub := l.subLeaf(number)
	if sub == nil && len(l.own) == 0 || bytes.Equal(a, b) {
		return nil
	}
	l.differs(number, bits)
	if sub == nil {
		return nil
	}
	if !sub.metadata {
		bits.or(sub.own)
	}
	for _, k := range sub.keys {
		same, err := k.sameEntry(a, b)
		if err != nil {
			return err
		}
		if !same {
			bits.or(k.bits)
		}
	}
	if sub.subs == nil && sub.members == nil && !sub.metadata {
		return nil
	}
	return sub.elements(a, b, bits)
}

// elements compares message by message; where there are more on one side, all paths differ.
func (l *leaf) elements(a, b []byte, bits Bits) error {
	i, j := 0, 0
	var f, g field
	for i < len(a) && j < len(b) {
		if err := f.next(a, i); err != nil {
			return err
		}
		if err := g.next(b, j); err != nil {
			return err
		}
		if f.wire != wire.WireBytes || g.wire != wire.WireBytes {
			return errType
		}
		x, y := a[f.payload:f.end], b[g.payload:g.end]
		var err error
		switch {
		case bytes.Equal(x, y):
		case l.members != nil:
			err = l.changedJSON(x, y, bits)
		default:
			err = l.changed(x, y, bits)
		}
		if err != nil {
			return err
		}
		i, j = f.end, g.end
	}

	if i < len(a) || j < len(b) {
		bits.or(l.all)
	}
	return nil
}

// sameEntry reports whether the entry with the key is the same in both runs of entries.
func (k *keyed) sameEntry(a, b []byte) (bool, error) {
	x, err := k.findEntry(a)
	if err != nil {
		return false, err
	}
	y, err := k.findEntry(b)
	return bytes.Equal(x, y) && (x == nil) == (y == nil), err
}

func (k *keyed) findEntry(entries []byte) ([]byte, error) {
	n := node{keys: []string{k.key}}
	var f field
	for i := 0; i < len(entries); i = f.end {
		if err := f.next(entries, i); err != nil {
			return nil, err
		}
		if f.wire != wire.WireBytes {
			return nil, errType
		}
		entry := entries[f.payload:f.end]
		if ok, err := n.hasKey(entry); err != nil || ok {
			return entry, err
		}
	}
	return nil, nil
}
