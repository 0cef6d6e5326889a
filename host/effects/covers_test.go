package effects

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// A list does for a question about a version of the key's object if the cache of the keys had reached that when it
// began, and hasn't gone back.
func TestWhichListDoes(t *testing.T) {
	store := &testStore{}
	w := &Writer{Options: Options{
		Controller: &abi.Controller{Views: []abi.View{{Resource: configMaps}}},
		Stores:     func(abi.Resource) Store { return store },
	}, reads: map[abi.Resource]bool{configMaps: true}}
	for _, c := range []struct {
		known, now, about string
		keys              abi.Resource
		does              bool
	}{
		{"100", "100", "99", configMaps, true},
		{"100", "100", "100", configMaps, true},
		{"100", "200", "100", configMaps, true},
		{"100", "200", "101", configMaps, false},
		{"100", "99", "50", configMaps, false},
		{"100", "100", "", configMaps, false},
		{"", "100", "50", configMaps, false},
		{"100", "100", "50", abi.Resource{Version: "v1", Name: "pods"}, false},
	} {
		store.set(c.now)
		if does := w.covers(&sharedListing{keys: c.keys, known: c.known}, c.about); does != c.does {
			t.Errorf("%+v: does %v", c, does)
		}
	}
}
