package record

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Change is what an object has otherwise than another one, as people read it.
//
// A path names members one by one, such as spec.template.spec. What isn't a plain word stands in brackets, as in
// metadata.labels[app.kubernetes.io/name], and an element of a list whose elements have names is
// status.conditions[type=Ready]. Where elements have none, or where their order has changed, the list is one value.
type Change struct {
	// Set has the values at the paths that are new or otherwise.
	Set map[string]any `json:"set,omitempty"`
	// Unset are the paths that are there no more.
	Unset []string `json:"unset,omitempty"`
}

// ChangeOf returns what b has otherwise than a, but for its resourceVersion. Both are as [Readable] returns them.
func ChangeOf(a, b map[string]any) Change {
	c := Change{Set: map[string]any{}}
	c.compareMembers("", a, b)
	const version = "metadata.resourceVersion"
	delete(c.Set, version)
	c.Unset = slices.DeleteFunc(c.Unset, func(path string) bool { return path == version })
	slices.Sort(c.Unset)
	return c
}

// Size is how many values a change has: those of lists and maps by the piece.
func (c *Change) Size() int { return sizeOf(c.Set) + len(c.Unset) }

func sizeOf(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			n += sizeOf(x)
		}
	case []any:
		for _, x := range v {
			n += sizeOf(x)
		}
	}
	return max(n, 1)
}

func (c *Change) compareMembers(path string, a, b map[string]any) {
	for name, was := range a {
		if is, ok := b[name]; ok {
			c.compareValues(memberPath(path, name), was, is)
		} else {
			c.Unset = append(c.Unset, memberPath(path, name))
		}
	}
	for name, is := range b {
		if _, ok := a[name]; !ok {
			c.Set[memberPath(path, name)] = is
		}
	}
}

func (c *Change) compareValues(path string, a, b any) {
	if reflect.DeepEqual(a, b) {
		return
	}
	switch was := a.(type) {
	case map[string]any:
		if is, ok := b.(map[string]any); ok {
			c.compareMembers(path, was, is)
			return
		}
	case []any:
		if is, ok := b.([]any); ok && c.compareElements(path, was, is) {
			return
		}
	}
	c.Set[path] = b
}

// elementNames are the members by which the elements of a list may be told apart.
var elementNames = []string{"name", "type", "uid", "key", "ip"}

// compareElements compares lists element by element, and reports whether it could: it can where elements have names,
// where those that stay are in the same order and the new ones behind them, by their names, and where that says less
// than the whole list does.
func (c *Change) compareElements(path string, a, b []any) bool {
	name := elementName(a, b)
	if name == "" {
		return false
	}
	named := func(list []any) (names []string, elements map[string]map[string]any) {
		elements = map[string]map[string]any{}
		for _, x := range list {
			m := x.(map[string]any)
			n := m[name].(string)
			names, elements[n] = append(names, n), m
		}
		return names, elements
	}
	before, was := named(a)
	after, is := named(b)

	at := func(n string) string { return path + "[" + name + "=" + bracketed(n) + "]" }
	stay := slices.DeleteFunc(slices.Clone(before), func(n string) bool { return is[n] == nil })
	if len(stay) == 0 || len(after) < len(stay) || !slices.Equal(stay, after[:len(stay)]) ||
		!slices.IsSortedFunc(after[len(stay):], func(x, y string) int { return strings.Compare(at(x), at(y)) }) {
		return false
	}
	parts := Change{Set: map[string]any{}}
	for _, n := range before {
		if is[n] == nil {
			parts.Unset = append(parts.Unset, at(n))
		} else {
			parts.compareValues(at(n), was[n], is[n])
		}
	}
	for _, n := range after[len(stay):] {
		parts.Set[at(n)] = is[n]
	}
	if parts.Size() >= sizeOf(b) {
		return false
	}

	maps.Copy(c.Set, parts.Set)
	c.Unset = append(c.Unset, parts.Unset...)
	return true
}

// elementName returns the member that is a text in all elements of both lists and that no two of one list have alike,
// empty where there is none.
func elementName(lists ...[]any) string {
	for _, name := range elementNames {
		fits := true
		for _, list := range lists {
			seen := map[string]bool{}
			for _, x := range list {
				m, _ := x.(map[string]any)
				text, ok := m[name].(string)
				fits = fits && ok && !seen[text]
				seen[text] = true
			}
		}
		if fits {
			return name
		}
	}
	return ""
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	inBracket = regexp.MustCompile(`^[^"=\[\]]+$`)
)

func memberPath(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return path + "[" + bracketed(name) + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}

// bracketed is a name as it stands in brackets: as it is, or quoted.
func bracketed(name string) string {
	if inBracket.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
