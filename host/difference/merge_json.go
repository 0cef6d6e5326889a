package difference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/host/schema"
)

// property is a member of an object in JSON.
type property struct {
	name  string
	value []byte
}

func members(object []byte) ([]property, error) {
	var all []property
	err := schema.EachMember(object, func(name, value []byte) error {
		all = append(all, property{string(name), value})
		return nil
	})
	return all, err
}

// membersByName finds the members by their names, of equal names the last.
func membersByName(all []property) map[string][]byte {
	m := make(map[string][]byte, len(all))
	for _, x := range all {
		m[x.name] = x.value
	}
	return m
}

// object is an object in JSON that is being written.
type object struct {
	out   []byte
	begun bool
}

func (o *object) addMember(name string, value []byte) {
	if o.begun {
		o.out = append(o.out, ',')
	}
	o.begun = true
	quoted, _ := json.Marshal(name) // of a string, which has one
	o.out = append(append(append(o.out, quoted...), ':'), value...)
}

var emptyObject = []byte("{}")

func isObject(v []byte) bool { return firstByte(v) == '{' }

// firstByte returns what a value begins with.
func firstByte(v []byte) byte {
	if v = bytes.TrimLeft(v, " \t\r\n"); len(v) > 0 {
		return v[0]
	}
	return 0
}

// mergeBodies merges the JSON of an object that isn't built in.
func (d *differ) mergeBodies(number int32, base, seen, wanted []part, at *trail) ([]byte, bool, error) {
	if err := delimited(base, seen, wanted); err != nil {
		return nil, false, err
	}
	merged, changed, err := d.objects(jsonBody(base), jsonBody(seen), jsonBody(wanted), at, 0)
	if err != nil || !changed {
		return nil, false, err
	}
	return wire.AppendBytes(nil, uint32(number), merged), true, nil
}

// objects merges two objects in JSON by their members; below them lists and scalars are replaced whole. Absent and zero
// are the same, for of some fields guests leave out what is zero, and of others they write it where there was nothing,
// or nothing that they saw; except where a zero counts.
func (d *differ) objects(base, seen, wanted []byte, at *trail, depth int) ([]byte, bool, error) {
	if bytes.Equal(seen, wanted) {
		return base, false, nil
	}
	if depth > jsonNestingMax {
		return nil, false, errJSONNesting
	}
	var lists [3][]property
	for i, v := range [][]byte{base, seen, wanted} {
		var err error
		if lists[i], err = members(v); err != nil {
			return nil, false, fmt.Errorf("%s: %w", at.describe(), err)
		}
	}

	old, after := lists[0], lists[2]
	stored, before, now := membersByName(old), membersByName(lists[1]), membersByName(after)
	edits := map[string][]byte{} // nil: the member goes
	for name, w := range now {
		s, had := before[name]
		edit, changed, err := d.changedTo(stored[name], s, had, w, at.memberTrail(name), depth+1)
		if err != nil {
			return nil, false, err
		}
		if changed {
			edits[name] = edit
		}
	}
	for name, s := range before {
		if _, stays := now[name]; stays || isZero(s, depth) {
			continue
		}
		edit, err := d.removed(stored[name], s, at.memberTrail(name), depth+1)
		if err != nil {
			return nil, false, err
		}
		edits[name] = edit
	}
	if len(edits) == 0 {
		return base, false, nil
	}

	out := object{out: append(make([]byte, 0, len(base)+len(wanted)), '{')}
	for _, m := range old {
		edit, changed := edits[m.name]
		switch {
		case !changed:
			out.addMember(m.name, m.value)
		case edit != nil:
			out.addMember(m.name, edit)
		}
		delete(edits, m.name)
	}
	for _, m := range after {
		if edit := edits[m.name]; edit != nil {
			out.addMember(m.name, edit)
			delete(edits, m.name)
		}
	}
	for name, edit := range edits { // what only the base and what was seen had
		if edit != nil {
			out.addMember(name, edit)
		}
	}
	return append(out.out, '}'), true, nil
}

// root returns the path's first part.
func (t *trail) root() *trail {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// memberTrail returns the path of a member of an object in JSON.
func (t *trail) memberTrail(name string) *trail {
	return &trail{parent: t, name: name, key: t != nil && strings.ContainsAny(name, ".[]")}
}

// changedTo returns what becomes of a member that the guest sent, if that isn't what it saw.
func (d *differ) changedTo(stored, seen []byte, had bool, wanted []byte, at *trail, depth int) ([]byte, bool,
	error) {
	switch {
	case !had && isZero(wanted, depth) && !(isObject(wanted) && d.inStatus(at)) && !d.zeroCounts(wanted, at):
		return nil, false, nil
	case isObject(wanted) && (!had || isObject(seen)):
		if !had {
			seen = emptyObject
		}
		if !isObject(stored) {
			stored = emptyObject
		}
		merged, changed, err := d.objects(stored, seen, wanted, at, depth)
		if err == nil && !changed && !had && d.zeroCounts(wanted, at) {
			return merged, true, nil // that it is there is the change
		}
		return merged, changed, err
	case had:
		same, err := d.sameJSON(seen, wanted, at, depth)
		if err != nil || same {
			return nil, false, wrapPath(at, err)
		}
	}
	return wanted, true, d.requireSeen(at)
}

// removed returns what is left of a member that the guest saw and didn't send. Of one that it saw in parts, and of what
// is on top (spec, status), only what it saw goes.
func (d *differ) removed(stored, seen []byte, at *trail, depth int) ([]byte, error) {
	if isObject(seen) && isObject(stored) && (at.parent == nil || d.keeps != nil && !d.keeps(at.String())) {
		merged, _, err := d.objects(stored, seen, emptyObject, at, depth)
		return merged, err
	}
	return nil, d.requireSeen(at)
}

// inStatus reports whether zeros count at a path. Objects are looked into there, for a guest may see parts of them.
func (d *differ) inStatus(at *trail) bool { return d.zeros && at.root().name == "status" }

// zeroCounts reports whether a zero that the guest wrote where it saw nothing is a value.
func (d *differ) zeroCounts(v []byte, at *trail) bool {
	return d.inStatus(at) && firstByte(v) != 'n' && (d.keeps == nil || d.keeps(at.String()))
}

// isZero reports whether a guest leaves such a value out.
func isZero(v []byte, depth int) bool {
	switch firstByte(v) {
	case '"':
		return string(v) == `""`
	case '[':
		all, err := elements(v)
		return err == nil && len(all) == 0
	case 'n', 'f':
		return true
	case '{':
		if depth > jsonNestingMax {
			return false
		}
		all, err := members(v)
		for _, m := range all {
			if !isZero(m.value, depth+1) {
				return false
			}
		}
		return err == nil
	case 't':
		return false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return err == nil && f == 0
}

// sameJSON compares two values by meaning: members in any order, numbers however they are written, and what was zero
// may be absent from what is wanted. Of what is in a list the guest sees all or may write nothing.
func (d *differ) sameJSON(seen, wanted []byte, at *trail, depth int) (bool, error) {
	if bytes.Equal(seen, wanted) {
		return true, nil
	}
	if depth > jsonNestingMax {
		return false, errJSONNesting
	}

	a, b := firstByte(seen), firstByte(wanted)
	switch {
	case a == '{' && b == '{':
		whole := &differ{zeros: d.zeros}
		_, changed, err := whole.objects(seen, seen, wanted, &trail{parent: at, name: "item"}, depth+1)
		return !changed, err
	case a == '[' && b == '[':
		x, err := elements(seen)
		if err != nil {
			return false, err
		}
		y, err := elements(wanted)
		if err != nil || len(x) != len(y) {
			return false, err
		}
		for i := range x {
			if same, err := d.sameJSON(x[i], y[i], at, depth+1); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case a == '"' && b == '"':
		var s, t string
		if err := json.Unmarshal(seen, &s); err != nil {
			return false, err
		}
		err := json.Unmarshal(wanted, &t)
		return s == t, err
	case isNumber(a) && isNumber(b):
		return sameNumber(string(seen), string(wanted)), nil
	}
	return false, nil
}

func elements(list []byte) (all [][]byte, err error) {
	err = schema.EachElement(list, func(v []byte) error {
		all = append(all, v)
		return nil
	})
	return all, err
}

func isNumber(c byte) bool { return c == '-' || c >= '0' && c <= '9' }

// sameNumber compares integers by their digits, which a float may not hold, and others by value.
func sameNumber(a, b string) bool {
	if !strings.ContainsAny(a+b, ".eE") {
		return a == b
	}
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return a == b
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && x == y
}
