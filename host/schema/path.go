package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Path leads from a message to values in it. It is safe for concurrent use.
type Path struct {
	text    string
	message *Message
	steps   []step
	members []string // below the steps, in JSON
	last    *Field
	derived bool // goes through owner references that it doesn't name
}

// step enters one field.
type step struct {
	number int32
	field  *Field
	// entry enters the value of a map's entry, of the one with the key if keyed.
	entry, keyed bool
	key          string
	// controlling passes only the owner reference that controls.
	controlling bool
}

// Path compiles a dotted JSON path such as "spec.nodeName". It runs through lists (status.conditions.type); a map's key
// is in brackets (metadata.labels[a.b/c]). Objects have the derived paths controller.uid (the controlling owner's UID)
// and owners.uid too; name, kind and apiVersion go as well.
//
// In JSON of which no schema is known (what a custom resource has beside its metadata, what is below a RawExtension)
// every path leads somewhere, and brackets name a member whose name has dots; * is all that a custom resource has
// beside its metadata.
func (m *Message) Path(path string) (*Path, error) {
	p := &Path{text: path, message: m}
	fail := func(format string, args ...any) (*Path, error) {
		return nil, fmt.Errorf("path %q: %s", path, fmt.Sprintf(format, args...))
	}
	segments, err := splitPath(path)
	if err != nil {
		return fail("%v", err)
	}

	at := m
	if m.json {
		p.last = body
	}

	for i, s := range segments {
		if at != nil && at.json {
			p.members = append(p.members, s.members()...)
			continue
		}
		if at == nil {
			return fail("%s ends at %q, there is nothing below it%s",
				m.Name, segments[i-1].name, mapHint(p.last, segments[i-1], s))
		}

		chain := at.Lookup(s.name)
		controlling := false
		if chain == nil && i == 0 && m.object && (s.name == "controller" || s.name == "owners") && !s.keyed &&
			len(segments) == 2 {
			metadata := m.Field(1)
			chain = []*Field{metadata, metadata.Message.Lookup("ownerReferences")[0]}
			controlling, p.derived = s.name == "controller", true
		}

		if chain == nil && at.hasBody() && s.name != "apiVersion" && s.name != "kind" {
			p.steps, p.members, p.last = append(p.steps, step{number: bodyNumber, field: body}), s.members(), body
			at = anyJSON
			continue
		}
		if chain == nil {
			return fail("%s has no field %q%s", at.Name, s.name, similarNames(s.name, at.fieldNames()))
		}

		for _, f := range chain {
			p.steps = append(p.steps, step{number: f.Number, field: f})
		}
		p.last = chain[len(chain)-1]
		end := &p.steps[len(p.steps)-1]
		end.controlling = controlling

		if s.keyed {
			if !p.last.Map {
				return fail("%q isn't a map, so it has no [%s]", s.name, s.key)
			}
			end.keyed, end.key = true, s.key
		}

		end.entry = p.last.Map && (s.keyed || i < len(segments)-1)
		at = p.last.Message
		if p.last.Kind == RawExtension && i < len(segments)-1 {
			p.steps, p.last, at = append(p.steps, step{number: rawField.Number, field: rawField}), rawField, anyJSON
		}
	}

	return p, nil
}

type segment struct {
	name, key string
	keyed     bool
}

// members are the segment's names in JSON.
func (s segment) members() []string {
	if s.keyed {
		return []string{s.name, s.key}
	}
	return []string{s.name}
}

func splitPath(path string) ([]segment, error) {
	if path == "" {
		return nil, fmt.Errorf("is empty")
	}
	var all []segment
	for {
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		s := segment{name: path[:end]}
		if s.name == "" {
			return nil, fmt.Errorf("has an empty segment")
		}

		path = path[end:]
		if strings.HasPrefix(path, "[") {
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return nil, fmt.Errorf("has a [ without ]")
			}
			s.keyed, s.key = true, path[1:end]
			path = path[end+1:]
		}

		all = append(all, s)
		if path == "" {
			return all, nil
		}
		if path[0] != '.' {
			return nil, fmt.Errorf("has no dot after ]")
		}
		path = path[1:]
	}
}

func mapHint(last *Field, before, s segment) string {
	if last.Map && !before.keyed {
		return fmt.Sprintf("; a map's key is in brackets: %s[%s]", before.name, s.name)
	}
	return ""
}

// similarNames lists the names that are like the wrong one, or all if none is.
func similarNames(wrong string, names []string) string {
	var like []string
	for _, n := range names {
		if n != "" && (strings.EqualFold(n, wrong) || strings.Contains(strings.ToLower(n), strings.ToLower(wrong)) ||
			strings.Contains(strings.ToLower(wrong), strings.ToLower(n)) || distance(n, wrong) <= 2) {
			like = append(like, n)
		}
	}
	if len(like) == 0 {
		like = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
		if len(like) > 12 {
			like = append(like[:12:12], "…")
		}
	}
	slices.Sort(like)
	return "; there is " + strings.Join(like, ", ")
}

// distance is the number of edits that lead from one word to the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			up := row[j+1]
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(up+1, row[j]+1, diagonal+cost)
			diagonal = up
		}
	}
	return row[len(b)]
}

// String returns the path as it was written.
func (p *Path) String() string { return p.text }

// Field is the field at the end of the path.
func (p *Path) Field() *Field { return p.last }

// JSON reports that the path ends in JSON of which no schema is known: there may be scalars, objects and lists.
func (p *Path) JSON() bool { return p.last.Kind == JSON }

// Message is the type of the messages at the end of the path, of a map's values too; nil if there are scalars.
func (p *Path) Message() *Message { return p.last.Message }

// Map reports that the path ends at a whole map, so that Raw gives its entries.
func (p *Path) Map() bool { return p.last.Map && !p.steps[len(p.steps)-1].keyed }
