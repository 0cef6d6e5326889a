package printable

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"a plain text, with ü and 世", 100, "a plain text, with ü and 世"},
		{"two\nlines\tand\r\u2028more", 100, "two lines and  more"},
		{"\x1b[2Jcleared\x7f", 100, `\x1b[2Jcleared\x7f`},
		{"turned \u202e round", 100, `turned \u202e round`},
		{"no \xff UTF-8 \xe4\xb8", 100, "no ? UTF-8 ??"},
		{"just as long", 12, "just as long"},
		{"one too long", 11, "one too …"},
		{"世世世世", 12, "世世世世"},
		{"世世世世", 11, "世世…"}, // not inside a character
		{"a\x1bb", 4, "a…"}, // nor inside what shows one
	} {
		if got := Line(c.text, c.most); got != c.want {
			t.Errorf("Line(%q, %d) is %q, want %q", c.text, c.most, got, c.want)
		}
	}

	if got, want := Text("a\n\tb\x1b\xff"), "a\n\tb"+`\x1b`+"?"; got != want {
		t.Errorf("Text is %q, want %q", got, want)
	}
}

// A line is one, is no longer than it may be, has nothing that a terminal obeys, and is the same when it is made so
// again.
func FuzzLineIsOne(f *testing.F) {
	f.Add("a \x1b[31m世\u202e\xff\n", 12)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = len(ellipsis) + max(0, most)%1000
		got := Line(text, most)
		if len(got) > most || !utf8.ValidString(got) || strings.ContainsFunc(got,
			func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", got)
		}
		if again := Line(got, most); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
