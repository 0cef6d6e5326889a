package docs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const page = `<!-- a comment -->
# A page

A paragraph with a [link](other.md) that is
longer than **a line** is.

- an item that needs more
  than one line, too
- another

| a | b |
|---|---|
| 1 | x\|y |

| name | wide | wider |
|---|---|---|
| one | much text in this cell | and more |

    $ command that is long, and stays as it is, whatever comes

` + "```go\nfunc f() {}\n```\n"

const laidOut = `# A page

A paragraph with a link
(other.md) that is longer
than a line is.

- an item that needs more
  than one line, too
- another

a   b
1   x|y

- one
    wide: much text in this
    cell
    wider: and more

    $ command that is long, and stays as it is, whatever comes

    func f() {}
`

func TestTerminal(t *testing.T) {
	if got := Terminal(page, 28); got != laidOut {
		t.Errorf("got\n%s\nwant\n%s", got, laidOut)
	}
}

// No prose of any page is wider than the terminal.
func TestPages(t *testing.T) {
	for _, name := range Names() {
		text, err := Page("docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(Terminal(text, 80)) {
			if l = strings.TrimSuffix(l, "\n"); utf8.RuneCountInString(l) > 80 && strings.Contains(strings.TrimSpace(l), " ") &&
				!strings.HasPrefix(l, "    ") && !strings.HasPrefix(l, "#") {
				t.Errorf("%s: %q", name, l)
			}
		}
	}
	if _, err := Page("nowhere"); err == nil || !strings.Contains(err.Error(), Index) {
		t.Errorf("a page that isn't there: %v", err)
	}
}
