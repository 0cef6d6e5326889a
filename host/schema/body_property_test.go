package schema

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// bodyPaths are what the random and the fuzzed objects are looked at by.
var bodyPaths = []string{"a", "a.b", "a.b.c", "b.a", "b[a.b]", "c", "c.c.c", "metadata.labels", "metadata.name"}

// randomJSON makes values of few names, so that paths meet them.
func randomJSON(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 3 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[[]string{"a", "b", "c", "a.b"}[r.IntN(4)]] = randomJSON(r, depth-1)
		}
		return m
	case n < 5 && depth > 0:
		l := []any{}
		for range r.IntN(3) {
			l = append(l, randomJSON(r, depth-1))
		}
		return l
	}
	return []any{nil, true, false, 0, 1.5, -7, "", "x", "q\"\\<\u2028é"}[r.IntN(9)]
}

// What is projected is what is kept of encoding/json's view of the object, whatever differs is found, and values are
// those of that view.
func TestBodiesAgreeWithEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	object := func() []byte {
		m := map[string]any{"apiVersion": "example.com/v1", "kind": "WebApp",
			"metadata": map[string]any{"name": "x", "labels": map[string]string{"l": string(rune('a' + r.IntN(2)))}}}
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(4) > 0 {
				m[name] = randomJSON(r, 4)
			}
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for range 3000 {
		some := pickPaths(r, bodyPaths, 4)
		one, two := object(), object()
		checkBodies(t, one, two, some)
	}
}

func checkBodies(t *testing.T, one, two []byte, some []string) {
	t.Helper()
	m := webApps.Message
	mask, err := m.Mask(some...)
	if err != nil {
		t.Fatal(err)
	}

	leaves, err := m.Leaves(some)
	if err != nil {
		t.Fatal(err)
	}

	var projected [2][]byte
	for i, text := range [][]byte{one, two} {
		raw := encodeJSON(t, string(text))
		if projected[i], err = mask.Project(nil, raw); err != nil {
			t.Fatal(err)
		}
		if len(projected[i]) > len(raw) {
			t.Fatalf("%q became longer: %q", raw, projected[i])
		}

		again, err := mask.Project(nil, projected[i])
		if err != nil || !bytes.Equal(again, projected[i]) {
			t.Fatalf("%q, then %q (%v)", projected[i], again, err)
		}

		back, err := webApps.JSON(projected[i])
		if err != nil {
			t.Fatal(err)
		}

		got := decoded(t, back).(map[string]any)
		want := decoded(t, text).(map[string]any)
		for _, v := range []map[string]any{got, want} {
			delete(v, "metadata")
			delete(v, "apiVersion")
			delete(v, "kind")
		}

		if d := cmp.Diff(keptValues(want, some), got); d != "" {
			t.Fatalf("%s by %v: %s", text, some, d)
		}
		for _, p := range some {
			path, err := m.Path(p)
			if err != nil {
				t.Fatal(err)
			}
			values, err := path.Values(nil, raw)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(p, "metadata") {
				continue
			}
			if want, got := scalarsAt(want, memberNames(p)), textValues(values); !slices.Equal(want, got) {
				t.Fatalf("%s in %s: %q, want %q", p, text, got, want)
			}
		}
	}

	var bits Bits
	if err := leaves.Changed(encodeJSON(t, string(one)), encodeJSON(t, string(two)), &bits); err != nil {
		t.Fatal(err)
	}

	for i, p := range some {
		k, err := m.Mask(p)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := k.Project(nil, encodeJSON(t, string(one)))
		y, _ := k.Project(nil, encodeJSON(t, string(two)))
		if !bytes.Equal(x, y) && !bits.Has(i) {
			t.Fatalf("%s differs and wasn't found: %s, %s", p, one, two)
		}
	}
}

func memberNames(path string) []string {
	if path == "b[a.b]" {
		return []string{"b", "a.b"}
	}
	return strings.Split(path, ".")
}

// keptValues is the model of a projection.
func keptValues(v map[string]any, paths []string) map[string]any {
	var all [][]string
	for _, p := range paths {
		if !strings.HasPrefix(p, "metadata") {
			all = append(all, memberNames(p))
		}
	}
	if got, ok := keptBelow(v, all).(map[string]any); ok {
		return got
	}
	return map[string]any{}
}

func keptBelow(v any, paths [][]string) any {
	if slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 }) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			var below [][]string
			for _, p := range paths {
				if p[0] == name {
					below = append(below, p[1:])
				}
			}
			if below == nil {
				continue
			}
			whole := slices.ContainsFunc(below, func(p []string) bool { return len(p) == 0 })
			if k := reflect.ValueOf(x).Kind(); whole || k == reflect.Map || k == reflect.Slice {
				out[name] = keptBelow(x, below)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = keptBelow(v[i], paths)
		}
		return out
	}

	return v
}

// scalarsAt is the model of a path's values; of an object encoding/json has lost the order, so there is one name per
// step.
func scalarsAt(v any, members []string) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(members) > 0 {
			return scalarsAt(v[members[0]], members[1:])
		}
	case []any:
		for _, x := range v {
			all = append(all, scalarsAt(x, members)...)
		}
	case string:
		if len(members) == 0 {
			return []string{v}
		}
	case json.Number:
		if len(members) == 0 {
			return []string{v.String()}
		}
	case bool:
		if len(members) == 0 {
			return []string{map[bool]string{true: "true", false: "false"}[v]}
		}
	}
	return all
}

// The scanner takes what encoding/json takes, but for strings that aren't UTF-8, and what it takes is worked on without
// a panic.
func FuzzBodiesAgreeWithEncodingJSON(f *testing.F) {
	for _, s := range []string{webApp, `{"a":{"b":[1,{"c":"\ud800\u0041"}]},"b":{"a.b":1e5}}`, `{"\u0061":1}`,
		`{"a":1,"a":{"b":2}}`, `[`, `{"metadata":{"labels":null}}`} {
		f.Add([]byte(s))
	}
	m := webApps.Message
	mask, err := m.Mask(bodyPaths...)
	if err != nil {
		f.Fatal(err)
	}

	leaves, err := m.Leaves(bodyPaths)
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := skipValue(b, skipSpace(b, 0), 0)
		if valid := json.Valid(b) && utf8.Valid(b); valid && err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if end, err := skipValue(b, skipSpace(b, 0), 0); err == nil && !json.Valid(b[:end]) {
			t.Fatalf("%q is no JSON", b[:end])
		}

		raw, _, _, err := FromJSON(nil, b, nil)
		if err != nil {
			return
		}

		kept, err := mask.Project(nil, raw)
		if err != nil || len(kept) > len(raw) {
			t.Fatalf("%q: %v", raw, err)
		}

		var bits Bits
		if err := leaves.Changed(kept, raw, &bits); err != nil {
			t.Fatal(err)
		}

		for _, p := range bodyPaths {
			path, err := m.Path(p)
			if err != nil {
				t.Fatal(err)
			}
			x, err := path.Values(nil, raw)
			if err != nil {
				t.Fatal(err)
			}
			y, err := path.Values(nil, kept)
			if err != nil || !slices.EqualFunc(x, y, bytes.Equal) {
				t.Fatalf("%s of %q: %q, projected %q (%v)", p, b, x, y, err)
			}
		}

		back, err := webApps.JSON(raw)
		if err == nil && !json.Valid(back) {
			t.Fatalf("%s", back)
		}
	})
}
