package answer

import (
	"strings"
	"testing"
)

// A table's text is cut after so many characters, whatever bytes they take, and holds nothing that a terminal obeys.
func TestLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"just as lo", "just as lo"},
		{"one too lon", "one too lo…"},
		{"two\n lines\t", "two lines"},
		{strings.Repeat("世", 10), strings.Repeat("世", 10)},
		{strings.Repeat("世", 11), strings.Repeat("世", 10) + "…"},
		{"\x1b[2J", `\x1b[2J`},
	} {
		if got := Line(c.text, 10); got != c.want {
			t.Errorf("Line(%q, 10) is %q, want %q", c.text, got, c.want)
		}
	}
}
