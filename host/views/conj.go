package views

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/cache"
	"github.com/windlass-dev/windlass/host/schema"
)

// conj is one conjunction about an object, or about an element of a list in it.
type conj struct {
	list  *source // where the elements are; nil for the object itself
	tests []test
	joins []*join
	some  []*conj // an element satisfies each of these
	none  []*conj // no element satisfies any of these; they hold constants only
}

// test compares an object with constants.
type test struct {
	source
	exists bool
	not    bool
	values [][]byte
}

// join compares values of an object with those of an earlier view's object, or of the key.
type join struct {
	source
	view     int    // abi.FromKey for the key
	viewPath source // for FromKey only its text: namespace, name, value
	selected bool   // viewPath leads to a label selector for the labels at the source
}

// source is where values come from.
type source struct {
	text string // the path from the object's root
	path *schema.Path
	meta byte // 'n' name, 's' namespace, 'u' uid: kept beside the bytes
	// number is that of the text.
	number int
}

// sourceNumbers has the texts of all declared paths.
var sourceNumbers numbers

// subject is an object, or the bytes of an element in it.
type subject struct {
	o     *cache.Object
	raw   []byte
	known *version // nil if nothing is remembered of it
}

func wholeObject(o *cache.Object) subject { return subject{o: o, raw: o.Raw} }

// appendValues appends the values at the source, without empty ones. Bytes that can't be read have none: the cache has
// refused them before.
func (s *source) appendValues(dst [][]byte, v subject) [][]byte {
	if v.o != nil && s.meta != 0 {
		text := v.o.Name
		switch s.meta {
		case 's':
			text = v.o.Namespace
		case 'u':
			text = string(v.o.UID)
		}
		if text == "" {
			return dst
		}
		return append(dst, unsafe.Slice(unsafe.StringData(text), len(text)))
	}
	if v.known == nil || s.number == unnumbered {
		return s.readValues(dst, v.raw)
	}
	known := rememberedAt(&v.known.values, s.number)
	if !known.done {
		known.all, known.done = s.readValues(known.all, v.raw), true
	}
	return append(dst, known.all...)
}

// readValues is appendValues without what is remembered.
func (s *source) readValues(dst [][]byte, raw []byte) [][]byte {
	from := len(dst)
	all, err := s.path.Values(dst, raw)
	if err != nil {
		return dst
	}
	kept := all[:from]
	for _, x := range all[from:] {
		if len(x) > 0 {
			kept = append(kept, x)
		}
	}
	return kept
}

// undecoded appends what is at the source, undecoded; nothing of bytes that can't be read.
func (s *source) undecoded(dst [][]byte, v subject) [][]byte {
	if v.known == nil || s.number == unnumbered {
		return s.readRaw(dst, v.raw)
	}
	known := rememberedAt(&v.known.raws, s.number)
	if !known.done {
		known.all, known.done = s.readRaw(known.all, v.raw), true
	}
	return append(dst, known.all...)
}

func (s *source) readRaw(dst [][]byte, raw []byte) [][]byte {
	all, err := s.path.Raw(dst, raw)
	if err != nil {
		return dst
	}
	return all
}

func (t *test) holds(v subject) bool {
	var room [8][]byte
	if t.exists {
		return t.source.exists(room[:0], v) != t.not
	}
	for _, x := range t.source.appendValues(room[:0], v) {
		if slices.ContainsFunc(t.values, func(c []byte) bool { return bytes.Equal(c, x) }) {
			return !t.not
		}
	}
	return t.not
}

// exists reports whether there is something at the source: a message, an object in JSON, an entry of a map (whose value
// may be empty, unless it is bytes: empty data of a Secret is none), a value.
func (s *source) exists(room [][]byte, v subject) bool {
	if s.path.JSON() {
		return slices.ContainsFunc(s.undecoded(room, v), func(x []byte) bool {
			return string(x) != `""` || strings.HasSuffix(s.text, "]")
		})
	}
	entry := strings.HasSuffix(s.text, "]") && s.path.Field().Kind != schema.Bytes
	if s.path.Message() == nil && !s.path.Map() && !entry {
		return len(s.appendValues(room, v)) > 0
	}
	return len(s.undecoded(room, v)) > 0
}

// holds reports whether the constants hold; joins are left to the indexes.
func (c *conj) holds(v subject) bool {
	for i := range c.tests {
		if !c.tests[i].holds(v) {
			return false
		}
	}
	for _, s := range c.some {
		if !s.someElementHolds(v) {
			return false
		}
	}
	for _, n := range c.none {
		if n.someElementHolds(v) {
			return false
		}
	}
	return true
}

// someElementHolds reports whether an element satisfies the constants.
func (c *conj) someElementHolds(v subject) bool {
	var room [8][]byte
	for _, e := range c.elements(room[:0], v) {
		if c.holds(subject{raw: e}) {
			return true
		}
	}
	return false
}

func (c *conj) elements(dst [][]byte, v subject) [][]byte {
	return c.list.undecoded(dst, v)
}

// extendComposites returns, for each way in which the subject satisfies the constants, the composite of its values at
// the joins: each prefix with what follows it.
func (c *conj) extendComposites(v subject, prefixes []string) []string {
	for i := range c.tests {
		if !c.tests[i].holds(v) {
			return nil
		}
	}

	for _, n := range c.none {
		if n.someElementHolds(v) {
			return nil
		}
	}

	var room [8][]byte
	for _, j := range c.joins {
		if j.selected {
			continue
		}
		if prefixes = product(prefixes, j.source.appendValues(room[:0], v)); len(prefixes) == 0 {
			return nil
		}
	}

	for _, s := range c.some {
		var next []string
		for _, e := range s.elements(room[:0], v) {
			next = append(next, s.extendComposites(subject{raw: e}, prefixes)...)
		}
		if next = distinct(next); len(next) == 0 {
			return nil
		}
		prefixes = next
	}

	return prefixes
}

// product appends each value to each prefix.
func product(prefixes []string, values [][]byte) []string {
	if len(values) == 0 {
		return nil
	}
	next := make([]string, 0, len(prefixes)*len(values))
	var room [128]byte
	for _, p := range prefixes {
		for _, v := range values {
			next = append(next, string(appendPart(append(room[:0], p...), v)))
		}
	}
	if len(values) > 1 {
		next = distinct(next)
	}
	return next
}

// appendPart appends one value of a composite so that no two composites are equal by chance.
func appendPart(dst, v []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

func distinct(s []string) []string {
	if len(s) < 2 {
		return s
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// flatJoins returns the joins in the order in which extendComposites has their values; selectors aren't part of it.
func (c *conj) flatJoins() []*join {
	var all []*join
	for _, j := range c.joins {
		if !j.selected {
			all = append(all, j)
		}
	}
	for _, s := range c.some {
		all = append(all, s.flatJoins()...)
	}
	return all
}

// mixesViews reports whether one element is compared with several earlier views; the walk back takes each of them by
// itself.
func (c *conj) mixesViews() bool {
	return slices.ContainsFunc(c.some, func(s *conj) bool {
		flat := s.flatJoins()
		return slices.ContainsFunc(flat, func(j *join) bool { return j.view != flat[0].view })
	})
}

// restrict keeps the joins that keep tells, with all constants.
func (c *conj) restrict(keep func(*join) bool) *conj {
	r := &conj{list: c.list, tests: c.tests, none: c.none}
	for _, j := range c.joins {
		if keep(j) {
			r.joins = append(r.joins, j)
		}
	}
	for _, s := range c.some {
		r.some = append(r.some, s.restrict(keep))
	}
	return r
}

// restrictJoins is restrict without what is said of the object alone: it is for one of which all constants are known to
// hold.
func (c *conj) restrictJoins(keep func(*join) bool) *conj {
	r := c.restrict(keep)
	r.tests, r.none = nil, nil
	return r
}

// constants leaves what is said of the object alone: nil if that is nothing.
func (c *conj) constants() *conj {
	r := &conj{list: c.list, tests: c.tests, none: c.none}
	for _, s := range c.some {
		if k := s.constants(); k != nil {
			r.some = append(r.some, k)
		}
	}
	if len(r.tests)+len(r.none)+len(r.some) == 0 {
		return nil
	}
	return r
}

// and returns the conjunction of both.
func (c *conj) and(d *conj) *conj {
	return &conj{
		list:  c.list,
		tests: slices.Concat(c.tests, d.tests), joins: slices.Concat(c.joins, d.joins),
		some: slices.Concat(c.some, d.some), none: slices.Concat(c.none, d.none),
	}
}

// sortParts puts the parts in an order of their own, so that conditions written in another order share an index.
func (c *conj) sortParts() {
	slices.SortStableFunc(c.tests, func(a, b test) int { return strings.Compare(a.String(), b.String()) })
	slices.SortStableFunc(c.joins, func(a, b *join) int { return strings.Compare(a.text, b.text) })
	for _, l := range [][]*conj{c.some, c.none} {
		for _, s := range l {
			s.sortParts()
		}
		slices.SortStableFunc(l, func(a, b *conj) int { return strings.Compare(a.String(), b.String()) })
	}
}

func (t *test) String() string {
	s := t.text
	if t.exists {
		s += "?"
	} else {
		quoted := make([]string, len(t.values))
		for i, v := range t.values {
			quoted[i] = strconv.Quote(string(v))
		}
		slices.Sort(quoted)
		s += " in " + strings.Join(quoted, "|")
	}
	if t.not {
		s = "not " + s
	}
	return s
}

// String returns what an index of the conjunction depends on, and is its name: the constants and the paths whose values
// are its composite.
func (c *conj) String() string {
	var parts []string
	if c.list != nil {
		parts = append(parts, "each "+c.list.text)
	}
	for i := range c.tests {
		parts = append(parts, c.tests[i].String())
	}
	for _, n := range c.none {
		parts = append(parts, "no("+n.String()+")")
	}
	for _, j := range c.joins {
		if !j.selected {
			parts = append(parts, j.text)
		}
	}
	for _, s := range c.some {
		parts = append(parts, "("+s.String()+")")
	}
	return strings.Join(parts, ", ")
}

// appendPaths appends the paths that the conjunction reads in the object.
func (c *conj) appendPaths(dst []string) []string {
	if c.list != nil && c.anyElement() {
		dst = append(dst, c.list.text)
	}
	for i := range c.tests {
		dst = append(dst, c.tests[i].text)
	}
	for _, j := range c.joins {
		dst = append(dst, j.text)
	}
	for _, s := range slices.Concat(c.some, c.none) {
		dst = s.appendPaths(dst)
	}
	return dst
}

// anyElement reports that an element without any of the paths that are read could satisfy the conjunction, so that it
// matters how many elements there are.
func (c *conj) anyElement() bool {
	if len(c.joins) > 0 || len(c.some) > 0 {
		return false
	}
	return !slices.ContainsFunc(c.tests, func(t test) bool { return !t.not })
}

// newSource makes a source of a declared path.
func newSource(m *schema.Message, prefix, text string) (source, error) {
	s, err := sourceAt(m, prefix, text)
	if err == nil {
		s.number = sourceNumbers.numberOf(s.text)
	}
	return s, err
}

// sourceAt makes a source of any path, without a number: nothing is to be remembered of it, and of declared paths alone
// there is an end.
func sourceAt(m *schema.Message, prefix, text string) (source, error) {
	p, err := m.Path(text)
	if err != nil {
		return source{}, err
	}
	s := source{text: prefix + text, path: p}
	switch s.text {
	case "metadata.name":
		s.meta = 'n'
	case "metadata.namespace":
		s.meta = 's'
	case "metadata.uid":
		s.meta = 'u'
	}
	return s, nil
}

// fromKey returns the key's value that a join compares with.
func fromKey(key abi.KeyRef, field string) string {
	switch field {
	case "namespace":
		return key.Namespace
	default:
		return key.Name
	}
}
