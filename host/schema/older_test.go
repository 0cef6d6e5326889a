package schema

import (
	"testing"

	"github.com/windlass-dev/windlass/abi"
)

// An object in one version is read as if it were in the other: field by field they are the same.
func TestOlderVersionsHaveTheSameForm(t *testing.T) {
	for _, r := range WithOlder() {
		newest, err := For(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range Older(r) {
			old, err := For(abi.Resource{Group: r.Group, Version: v, Name: r.Name})
			if err != nil {
				t.Fatal(err)
			}
			if old.Namespaced != newest.Namespaced || old.Kind != newest.Kind {
				t.Errorf("%s has the kind %s (namespaced: %v), and %s %s (%v)", old.ID(), old.Kind, old.Namespaced,
					newest.ID(), newest.Kind, newest.Namespaced)
			}
			expectSameForm(t, old.ID(), old.Message, newest.Message)
		}
	}
}

// expectSameForm fails the test if two messages differ in a field.
func expectSameForm(t *testing.T, path string, a, b *Message) {
	t.Helper()
	if len(a.fields) != len(b.fields) {
		t.Errorf("%s: %d fields, and %d", path, len(a.fields), len(b.fields))
		return
	}
	for i := range a.fields {
		x, y := *a.fields[i], *b.fields[i]
		below := path + "." + x.JSON
		if (x.Message == nil) != (y.Message == nil) {
			t.Errorf("%s: a message in one alone", below)
		} else if x.Message != nil && x.Message != y.Message {
			expectSameForm(t, below, x.Message, y.Message)
		}
		x.Message, y.Message = nil, nil
		if x != y {
			t.Errorf("%s: %+v, and %+v", below, x, y)
		}
	}
}
