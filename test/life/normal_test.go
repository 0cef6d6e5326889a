package life

import "testing"

// A generated name is any name, and not its beginning: a refusal that quotes the one isn't one that quotes the other.
func TestPrefixIsNoName(t *testing.T) {
	text := func(name string) string {
		return normal{}.normalText(`Error creating: pods "` + name + `" is forbidden: no`)
	}
	if text("rs-x8k2j") != text("rs-zz9qw") {
		t.Errorf("two generated names are told apart: %s, %s", text("rs-x8k2j"), text("rs-zz9qw"))
	}
	if text("rs-x8k2j") == text("rs-") {
		t.Errorf("a name and its beginning are one: %s", text("rs-"))
	}
}
