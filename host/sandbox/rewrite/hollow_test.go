package rewrite

import "testing"

// What isn't a module is an error, however it ends.
func TestHollowOfAnything(t *testing.T) {
	const before = "\x00asm\x01\x00\x00\x00" + "\x03\x02\x01\x00" // a header, and a section of functions
	module, want := before+"\x0a\x05\x01\x03\x00\x01\x0b", before+"\x0a\x05\x01\x03\x00\x00\x0b"
	if got, err := Hollow([]byte(module)); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, wrong := range []string{"", "\x00asm", module[:9], module[:10], module[:13], module[:len(module)-1],
		module[:12] + "\x0a\x01\x7f", module[:12] + "\x0a\x00"} {
		if got, err := Hollow([]byte(wrong)); err == nil {
			t.Errorf("%q: %q", wrong, got)
		}
	}
}
