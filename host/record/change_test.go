package record

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangeOf(t *testing.T) {
	type object = map[string]any
	type list = []any
	condition := func(kind, status string) object { return object{"type": kind, "status": status, "reason": "R"} }
	a := object{
		"metadata": object{"name": "web", "labels": object{"app.kubernetes.io/name": "web", "a": "b"}},
		"spec":     object{"replicas": int64(3), "paused": true, "args": list{"a", "b"}},
		"status":   object{"conditions": list{condition("Ready", "True"), condition("Old", "True")}},
	}
	b := object{
		"metadata": object{"name": "web", "labels": object{"app.kubernetes.io/name": "api", "a=b": "c"}},
		"spec":     object{"replicas": int64(4), "args": list{"b"}, "strategy": object{"type": "Recreate"}},
		"status":   object{"conditions": list{condition("Ready", "False"), condition("New", "True")}},
	}
	want := Change{
		Set: map[string]any{
			"metadata.labels[app.kubernetes.io/name]": "api", `metadata.labels["a=b"]`: "c", "spec.replicas": int64(4),
			"spec.args": list{"b"}, "spec.strategy": object{"type": "Recreate"},
			"status.conditions[type=Ready].status": "False", "status.conditions[type=New]": condition("New", "True"),
		},
		Unset: []string{"metadata.labels.a", "spec.paused", "status.conditions[type=Old]"},
	}
	if d := cmp.Diff(want, ChangeOf(a, b)); d != "" {
		t.Error(d)
	}

	// What has another order, or no element of before, is one value.
	for name, x := range map[string][2]list{
		"order": {{condition("A", "1"), condition("B", "1")}, {condition("B", "1"), condition("A", "2")}},
		"front": {{condition("A", "1")}, {condition("B", "1"), condition("A", "1")}},
		"other": {{condition("A", "1")}, {condition("B", "1")}},
		"twice": {{condition("A", "1")}, {condition("A", "1"), condition("A", "2")}},
		"texts": {{"a"}, {"a", "b"}},
		"empty": {{condition("A", "1")}, {}},
	} {
		c := ChangeOf(object{"x": x[0]}, object{"x": x[1]})
		if d := cmp.Diff(Change{Set: map[string]any{"x": x[1]}}, c); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// A change says all: with it the one object is made of the other.
func TestChangeIsWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a, b := randomMembers(r, 0), randomMembers(r, 0)
		c := ChangeOf(a, b)
		if got := applied(t, a, c); !reflect.DeepEqual(got, b) {
			t.Fatalf("%v\nto %v\nby %+v\nis %v", a, b, c, got)
		}
	}
}

func randomMembers(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for _, name := range []string{"a", "b.c", "d=e", `f"[`} {
		if r.IntN(2) == 0 {
			m[name] = randomValue(r, depth+1)
		}
	}
	return m
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(5); {
	case n == 0 && depth < 4:
		return randomMembers(r, depth)
	case n == 1 && depth < 4:
		list := []any{}
		for _, i := range r.Perm(5)[:r.IntN(5)] {
			x := randomMembers(r, depth+1)
			x["name"] = "n=" + strconv.Itoa(i)
			list = append(list, x)
		}
		if r.IntN(3) > 0 {
			slices.SortFunc(list, func(x, y any) int {
				return len(x.(map[string]any)["name"].(string)) - len(y.(map[string]any)["name"].(string))
			})
		}
		return list
	case n == 2:
		return []any{int64(r.IntN(2)), "x"}
	default:
		return int64(r.IntN(3))
	}
}

var step = regexp.MustCompile(`^(?:\.?([A-Za-z0-9_-]+)|\[(?:(name|type|uid|key|ip)=)?("(?:[^"\\]|\\.)*"|[^\]]*)\])`)

// applied returns what becomes of an object by a change.
func applied(t *testing.T, o map[string]any, c Change) map[string]any {
	t.Helper()
	var at any = clone(o)
	for _, path := range c.Unset {
		at = setAt(t, at, path, nil, true)
	}
	for _, path := range slices.Sorted(maps.Keys(c.Set)) {
		at = setAt(t, at, path, c.Set[path], false)
	}
	return at.(map[string]any)
}

func setAt(t *testing.T, at any, path string, to any, gone bool) any {
	t.Helper()
	if path == "" {
		return to
	}
	m := step.FindStringSubmatch(path)
	if m == nil {
		t.Fatalf("path %q", path)
	}
	rest, name := path[len(m[0]):], m[1]
	if name == "" {
		name = m[3]
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
	}
	last := rest == ""

	if m[2] == "" {
		members := at.(map[string]any)
		if last && gone {
			delete(members, name)
		} else {
			members[name] = setAt(t, members[name], rest, to, gone)
		}
		return members
	}
	list := at.([]any)
	i := slices.IndexFunc(list, func(x any) bool { return x.(map[string]any)[m[2]] == name })
	switch {
	case last && gone:
		return slices.Delete(list, i, i+1)
	case i < 0:
		return append(list, to)
	}
	list[i] = setAt(t, list[i], rest, to, gone)
	return list
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for k, x := range v {
			c[k] = clone(x)
		}
		return c
	case []any:
		c := []any{}
		for _, x := range v {
			c = append(c, clone(x))
		}
		return c
	}
	return v
}
