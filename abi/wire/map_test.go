package wire

import (
	"fmt"
	"testing"
)

// Whether a map has all of another one doesn't hang on their orders.
func TestHoldsAll(t *testing.T) {
	m := func(pairs ...string) (d StringMap) {
		for i := 0; i < len(pairs); i += 2 {
			d = append(d, KV{Key: pairs[i], Value: pairs[i+1]})
		}
		return d
	}
	for _, x := range []struct {
		all, some StringMap
		want      bool
	}{
		{nil, nil, true},
		{m("a", "1"), nil, true},
		{nil, m("a", "1"), false},
		{m("a", "1", "b", "2", "c", "3"), m("a", "1", "c", "3"), true},
		{m("a", "1", "b", "2", "c", "3"), m("c", "3", "a", "1", "b", "2"), true},
		{m("c", "3", "a", "1"), m("a", "1", "c", "3"), true},
		{m("a", "1", "b", "2"), m("a", "1", "b", "3"), false},
		{m("a", "1", "b", "2"), m("a", "1", "d", "2"), false},
		{m("a", ""), m("b", ""), false},
	} {
		if got := HoldsAll(x.all, x.some); got != x.want {
			t.Errorf("%v holds %v: %v", x.all, x.some, got)
		}
	}
}

// Of long maps in one order each key is found beside the last one.
func TestHoldsAllInOneWalk(t *testing.T) {
	var m StringMap
	for i := range 1000 {
		m = append(m, KV{Key: fmt.Sprintf("%04d", i)})
	}
	at := 0
	for i := range m {
		if at = m.indexFrom(m[i].Key, at); at != i {
			t.Fatalf("key %d is found at %d", i, at)
		}
	}
}
