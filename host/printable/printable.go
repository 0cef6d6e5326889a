// Package printable makes text that others wrote, such as a guest, a registry or an object of a cluster, fit to be read
// in a log, an error or a terminal.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis stands for what was cut off.
const ellipsis = "…"

// Line returns s as one line of at most so many bytes, in memory of its own: s may be a guest's. Each character of
// white space is a space. What isn't printable is shown as what it is: control characters, which begin a terminal's
// escape sequences, and those that turn the direction of text. A byte that isn't UTF-8 is a question mark. What is too
// long is cut between characters, and ends with an ellipsis.
func Line(s string, most int) string {
	var b strings.Builder
	fits := 0 // the length up to which there is room for an ellipsis
	for _, r := range s {
		if unicode.IsSpace(r) {
			r = ' '
		}
		writeRune(&b, r)
		if b.Len() > most {
			return b.String()[:fits] + ellipsis
		}
		if b.Len() <= most-len(ellipsis) {
			fits = b.Len()
		}
	}
	return b.String()
}

// Text is Line for a text of several lines, of any length.
func Text(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
			continue
		}
		writeRune(&b, r)
	}
	return b.String()
}

func writeRune(b *strings.Builder, r rune) {
	switch {
	case r == utf8.RuneError:
		b.WriteByte('?')
	case unicode.IsPrint(r):
		b.WriteRune(r)
	default:
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
}
