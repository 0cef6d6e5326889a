package statefulset

import (
	"encoding/json"
	"testing"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

func TestParse(t *testing.T) {
	for _, x := range []struct {
		name, parent string
		ordinal      int64
	}{
		{"web-0", "web", 0}, {"web-12", "web", 12}, {"my-web-3", "my-web", 3}, {"web-01", "web", 1}, {"web-2147483647", "web", 2147483647},
		{"web-2147483648", "web", -1}, {"web-99999999999999999999", "web", -1}, {"web", "", -1}, {"web-", "", -1}, {"web-a", "", -1}, {"web-1a", "", -1},
		{"7", "", -1}, {"-7", "", 7}, {"web--1", "web-", 1}, {"", "", -1},
	} {
		if parent, ordinal := parse(x.name); parent != x.parent || ordinal != x.ordinal {
			t.Errorf("%q: %q, %d, want %q, %d", x.name, parent, ordinal, x.parent, x.ordinal)
		}
	}
}

func TestInsert(t *testing.T) {
	var up, down []*corev1.Pod
	for _, name := range []string{"w-01", "w-1", "w-10", "w-2", "w-0", "w-3"} { // views come sorted by name, which is not by ordinal
		p := &corev1.Pod{}
		p.Name = name
		up, down = insert(up, p, ordinal(p), 1), insert(down, p, ordinal(p), -1)
	}
	text := func(l []*corev1.Pod) (s string) {
		for _, p := range l {
			s += p.Name + " "
		}
		return s
	}
	if got := text(up); got != "w-0 w-1 w-2 w-3 w-10 " {
		t.Errorf("upwards: %s", got)
	}
	if got := text(down); got != "w-10 w-3 w-2 w-1 w-01 w-0 " {
		t.Errorf("downwards: %s", got)
	}
}

func TestWithin(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want bool
	}{
		{`{}`, `{}`, true},
		{`{}`, `{"a":{"b":[1]},"c":"}"}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"b":1}`, `{"a":[{"b":2}],"b":1,"c":3}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1,"b":2}`, `{"b":2}`, false},
		{`{"a":null,"b":2}`, `{"b":2}`, true},
		{`{"a":null,"z":null}`, `{}`, true},
		{`{"a":null}`, `{"a":null}`, true},
		{`{"a":null}`, `{"a":1}`, false},
		{`{"a":[{"x":1},{"y":2}]}`, `{"a":[{"w":0,"x":1},{"y":2,"z":3}]}`, true},
		{`{"a":[1]}`, `{"a":[1,2]}`, false},
		{`{"a":[1,2]}`, `{"a":[1]}`, false},
		{`{"a":[]}`, `{"a":[]}`, true},
		{`{"a":{}}`, `{"a":[]}`, false},
		{`{"a":"x\"},"}`, `{"a":"x\"},","b":1}`, true},
		{`{"ab":1}`, `{"a":1,"ab":1}`, true},
		{`{"a":1`, `{"a":1}`, false},
		{``, ``, false},
	} {
		if got := within([]byte(x.a), []byte(x.b)); got != x.want {
			t.Errorf("%s within %s: %v", x.a, x.b, got)
		}
	}
}

// What is within has all members of the smaller text with the same values, as encoding/json reads both.
func FuzzWithinIsSubset(f *testing.F) {
	f.Add(`{"a":[{"x":1}],"b":"s"}`, `{"a":[{"x":1,"y":2}],"b":"s"}`)
	f.Add(`{"a":null}`, `{}`)
	f.Add(`{"`, `{"a`)
	f.Fuzz(func(t *testing.T, a, b string) {
		got := within([]byte(a), []byte(b))
		var x, y any
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
			return // it ended, which is all
		}
		// Revisions are printed by encoding/json.
		p, _ := json.Marshal(x)
		q, _ := json.Marshal(y)
		if string(p) != a || string(q) != b {
			return
		}
		if want := subset(x, y); got && !want {
			t.Errorf("%s is not within %s", a, b)
		}
		if !within(p, p) && x != nil {
			t.Errorf("%s is not within itself", a)
		}
	})
}

func subset(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		m, ok := y.(map[string]any)
		for k, v := range x {
			w, there := m[k]
			ok = ok && (subset(v, w) && there || v == nil && !there)
		}
		return ok
	case []any:
		l, ok := y.([]any)
		if !ok || len(l) != len(x) {
			return false
		}
		for i := range x {
			ok = ok && subset(x[i], l[i])
		}
		return ok
	}
	return x == y
}
