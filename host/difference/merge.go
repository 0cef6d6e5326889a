package difference

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// Merge splices what a guest changed into a whole object.
//
// base is the object as the server has it, seen what the guest saw of it, wanted what the guest made of that, keeps
// whether the guest saw everything at a path. Only leaves in which wanted differs from seen change in base; everything
// else in base, fields that nobody here knows among them, stays byte for byte. Unset and zero are equal where the type
// can't tell them apart, quantities are compared by value, maps are merged by key, lists are replaced whole. What the
// server alone writes (metadata.resourceVersion, managedFields, …) is never a difference.
//
// In the JSON of objects that aren't built in it is the same: objects are merged by member, and what was zero may be
// absent.
//
// A change to what the guest didn't see is an error: a field outside its projection, or a list of whose items it saw
// only parts.
func Merge(m *schema.Message, base, seen, wanted []byte, keeps func(path string) bool) (
	merged []byte, changed bool, err error) {

	d := differ{keeps: keeps}
	return d.message(m, base, seen, wanted, nil, 0)
}

// MergeStatus is Merge for an update of status. In the JSON of a status a zero (false, 0, "", [] or {}, not null) that
// the guest wrote where there was nothing is a value, if it sees that path: so a status can have required fields. One
// that the guest saw and left out stays.
func MergeStatus(m *schema.Message, base, seen, wanted []byte, keeps func(path string) bool) (
	merged []byte, changed bool, err error) {

	d := differ{keeps: keeps, zeros: true}
	return d.message(m, base, seen, wanted, nil, 0)
}

// UnseenError is a change that the guest must not make, for it didn't see all that it would overwrite.
type UnseenError struct{ Path string }

func (e *UnseenError) Error() string {
	return fmt.Sprintf("it changes %s without having seen all of it; add %q to the fields of a view", e.Path, e.Path)
}

// NestingError is an object that is nested more deeply than can be compared: in messages, or in JSON.
type NestingError struct{ Most int }

func (e *NestingError) Error() string {
	return fmt.Sprintf("the object is nested more than %d levels deep, which an update may not be", e.Most)
}

var (
	errNesting     = &NestingError{nestingMax}
	errJSONNesting = &NestingError{jsonNestingMax}
)

const (
	// nestingMax bounds the recursion over types that contain themselves.
	nestingMax = 64
	// jsonNestingMax bounds that over JSON, of which each level is read with all that is in it.
	jsonNestingMax = 200
)

type differ struct {
	keeps func(string) bool
	zeros bool // count in a status
}

// trail is a path that is only written out when it is asked for.
type trail struct {
	parent *trail
	name   string
	key    bool // a map's key
}

func (t *trail) String() string {
	switch {
	case t == nil:
		return ""
	case t.key:
		return t.parent.String() + "[" + t.name + "]"
	case t.parent == nil:
		return t.name
	}
	return t.parent.String() + "." + t.name
}

func (t *trail) describe() string {
	if t == nil {
		return "the object"
	}
	return t.String()
}

func (t *trail) fieldTrail(f *schema.Field) *trail {
	if f.Inline || f.JSON == "" || f.Kind == schema.JSON {
		return t
	}
	return &trail{parent: t, name: f.JSON}
}

// requireSeen refuses a change at a path that wasn't seen whole.
func (d *differ) requireSeen(t *trail) error {
	path := t.String()
	if d.keeps == nil || d.keeps(path) {
		return nil
	}
	return &UnseenError{Path: path}
}

// serverOwned are the fields of an object's own metadata that only the server writes, and its identity.
var serverOwned = []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}

func isServerOwned(t *trail) bool {
	return t != nil && t.parent != nil && t.parent.parent == nil && t.parent.name == "metadata" &&
		slices.Contains(serverOwned, t.name)
}

func (d *differ) message(m *schema.Message, base, seen, wanted []byte, at *trail, depth int) ([]byte, bool, error) {
	if bytes.Equal(seen, wanted) {
		return base, false, nil
	}
	if depth > nestingMax {
		return nil, false, errNesting
	}
	before, err := splitFields(seen)
	if err != nil {
		return nil, false, fmt.Errorf("%s as it was seen: %w", at.describe(), err)
	}
	after, err := splitFields(wanted)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", at.describe(), err)
	}
	old, err := splitFields(base)
	if err != nil {
		return nil, false, fmt.Errorf("%s in the cache: %w", at.describe(), err)
	}

	var edits map[int32][]byte
	size := len(base)
	for _, number := range numbers(before, after) {
		seen, wanted := partsOfField(before, number), partsOfField(after, number)
		if slices.EqualFunc(seen, wanted, samePart) {
			continue // most of them, most of the time
		}
		edit, changed, err := d.mergeField(m, number, partsOfField(old, number), seen, wanted, at, depth)
		if err != nil {
			return nil, false, err
		}
		if changed {
			if edits == nil {
				edits = map[int32][]byte{}
			}
			edits[number] = edit
			size += len(edit)
		}
	}
	if len(edits) == 0 {
		return base, false, nil
	}

	out := make([]byte, 0, size)
	for _, p := range old {
		edit, changed := edits[p.number]
		if !changed {
			out = append(out, p.whole...)
			continue
		}
		out = append(out, edit...)
		edits[p.number] = nil // further occurrences are gone
	}
	for _, number := range numbers(after, before) {
		out = append(out, edits[number]...)
		delete(edits, number)
	}
	return out, true, nil
}

func samePart(a, b part) bool { return bytes.Equal(a.whole, b.whole) }

// numbers are the field numbers of both, in order of appearance.
func numbers(a, b []part) []int32 {
	var out []int32
	for _, parts := range [][]part{a, b} {
		for i, p := range parts {
			if i > 0 && parts[i-1].number == p.number || slices.Contains(out, p.number) {
				continue
			}
			out = append(out, p.number)
		}
	}
	return out
}

// mergeField compares one field, and returns all its occurrences in the result.
func (d *differ) mergeField(m *schema.Message, number int32, base, seen, wanted []part, at *trail, depth int) (
	[]byte, bool, error) {

	f := m.Field(int32(number))
	if f == nil {
		// A field newer than this host: its bytes are all that is known of it.
		if bytes.Equal(joinParts(seen), joinParts(wanted)) {
			return nil, false, nil
		}
		return joinParts(wanted), true, d.requireSeen(at)
	}
	path := at.fieldTrail(f)
	if isServerOwned(path) {
		return nil, false, nil
	}
	switch {
	case f.Kind == schema.JSON:
		return d.mergeBodies(number, base, seen, wanted, path)
	case f.Map:
		return d.mergeMap(f, base, seen, wanted, path, depth)
	case f.Repeated:
		same, err := equalLists(f, seen, wanted, depth)
		if err != nil || same {
			return nil, false, wrapPath(path, err)
		}
		return joinParts(wanted), true, d.requireSeen(path)
	case f.Kind == schema.Struct:
		return d.mergeNested(f, number, base, seen, wanted, path, depth)
	}
	same, err := equalLeaves(f, seen, wanted, depth)
	if err != nil || same {
		return nil, false, wrapPath(path, err)
	}
	return joinParts(wanted), true, d.requireSeen(path)
}

func wrapPath(path *trail, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// mergeNested merges a singular message.
func (d *differ) mergeNested(f *schema.Field, number int32, base, seen, wanted []part, path *trail, depth int) (
	[]byte, bool, error) {

	if err := delimited(seen, wanted, base); err != nil {
		return nil, false, wrapPath(path, err)
	}
	if f.Optional && len(wanted) == 0 {
		if len(seen) == 0 {
			return nil, false, nil
		}
		return nil, true, d.requireSeen(path)
	}
	merged, changed, err := d.message(f.Message, mergedBody(base), mergedBody(seen), mergedBody(wanted), path, depth+1)
	if err != nil {
		return nil, false, err
	}
	if f.Optional && len(seen) == 0 && !changed {
		// The message came without anything in it: its presence is the change.
		if err := d.requireSeen(path); err != nil {
			return nil, false, err
		}
		changed = true
	}
	if !changed {
		return nil, false, nil
	}
	return wire.AppendBytes(nil, uint32(number), merged), true, nil
}

func delimited(lists ...[]part) error {
	for _, parts := range lists {
		for _, p := range parts {
			if p.kind != wire.WireBytes {
				return fmt.Errorf("wire type %d where a message is expected", p.kind)
			}
		}
	}
	return nil
}

type entry struct {
	key   string
	value []part
	whole []byte
}

// entries reads a map's entries; of equal keys the last counts.
func entries(parts []part) ([]entry, error) {
	if err := delimited(parts); err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(parts))
	index := make(map[string]int, len(parts))
	for _, p := range parts {
		fields, err := splitFields(p.value)
		if err != nil {
			return nil, err
		}
		e := entry{key: string(lastValue(partsOfField(fields, 1))), value: partsOfField(fields, 2), whole: p.whole}
		if i, ok := index[e.key]; ok {
			out[i] = e
			continue
		}
		index[e.key] = len(out)
		out = append(out, e)
	}
	return out, nil
}

// mergeMap merges a map by key.
func (d *differ) mergeMap(f *schema.Field, base, seen, wanted []part, path *trail, depth int) ([]byte, bool, error) {
	before, err := entries(seen)
	if err != nil {
		return nil, false, wrapPath(path, err)
	}
	after, err := entries(wanted)
	if err != nil {
		return nil, false, wrapPath(path, err)
	}
	old, err := entries(base)
	if err != nil {
		return nil, false, wrapPath(path, err)
	}

	was := make(map[string]entry, len(before))
	for _, e := range before {
		was[e.key] = e
	}
	edits := map[string][]byte{} // nil: the key goes
	for _, e := range after {
		b, had := was[e.key]
		delete(was, e.key)
		if had {
			same, err := equalValues(f, b.value, e.value, depth)
			if err != nil {
				return nil, false, wrapPath(&trail{path, e.key, true}, err)
			}
			if same {
				continue
			}
		}
		edits[e.key] = e.whole
	}
	for key := range was {
		edits[key] = nil
	}
	if len(edits) == 0 {
		return nil, false, nil
	}

	if d.keeps != nil && !d.keeps(path.String()) {
		for key := range edits {
			if err := d.requireSeen(&trail{path, key, true}); err != nil {
				return nil, false, err
			}
		}
	}

	var out []byte
	for _, e := range old {
		edit, changed := edits[e.key]
		if !changed {
			edit = e.whole
		}
		out = append(out, edit...)
		delete(edits, e.key)
	}
	for _, e := range after {
		out = append(out, edits[e.key]...)
	}
	return out, true, nil
}
