package docs

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Terminal lays a page out for a terminal of that many columns: paragraphs and lists are broken into lines, wide tables
// become lists, commands and code stay as they are.
func Terminal(page string, columns int) string {
	t := terminal{columns: columns}
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "```"):
			t.flush()
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				t.line("    " + lines[i])
			}
			i++
		case strings.HasPrefix(line, "|"):
			t.flush()
			from := i
			for i < len(lines) && strings.HasPrefix(lines[i], "|") {
				i++
			}
			t.table(lines[from:i])
		case strings.HasPrefix(line, "    ") && len(t.words) == 0, strings.HasPrefix(line, "#"):
			t.flush()
			t.line(line)
			i++
		case comment.MatchString(line):
			i++
		case strings.TrimSpace(line) == "":
			t.flush()
			t.line("")
			i++
		default:
			if m := item.FindString(line); m != "" {
				t.flush()
				t.first, t.indent = m, strings.Repeat(" ", utf8.RuneCountInString(m))
				line = line[len(m):]
			}
			t.words = append(t.words, strings.Fields(inline(line))...)
			i++
		}
	}

	t.flush()
	return strings.TrimRight(t.b.String(), "\n") + "\n"
}

var (
	comment = regexp.MustCompile(`^<!--.*-->$`)
	item    = regexp.MustCompile(`^ *(-|\d+\.) +`)
	picture = regexp.MustCompile(`!\[([^]]*)\]\([^)]*\)`)
	link    = regexp.MustCompile(`\[((?:[^][]|\[[^][]*\])+)\]\(([^)#]*)(#[^)]*)?\)`)
)

// inline takes the marks out of a text that a terminal has no use for.
func inline(s string) string {
	s = picture.ReplaceAllString(s, "(picture: $1)")
	s = strings.ReplaceAll(link.ReplaceAllString(s, "$1 ($2)"), " ()", "") // a link within the page has nothing to show
	return strings.ReplaceAll(s, "**", "")
}

type terminal struct {
	b       strings.Builder
	columns int

	words         []string // of the paragraph or item that was begun
	first, indent string   // before its first line, and before the others
}

func (t *terminal) line(s string) {
	if s == "" && strings.HasSuffix(t.b.String(), "\n\n") {
		return
	}
	t.b.WriteString(strings.TrimRight(s, " ") + "\n")
}

// flush writes what was begun.
func (t *terminal) flush() {
	line := t.first
	empty := true
	for _, w := range t.words {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > t.columns {
			t.line(line)
			line, empty = t.indent, true
		}
		if !empty {
			line += " "
		}
		line += w
		empty = false
	}
	if len(t.words) > 0 {
		t.line(line)
	}
	t.words, t.first, t.indent = nil, "", ""
}

// table aligns the columns of a table that is narrow enough; of another one each row becomes an item, the first column
// its head.
func (t *terminal) table(lines []string) {
	var rows [][]string
	for i, l := range lines {
		if i == 1 {
			continue // the line between head and rows
		}
		rows = append(rows, cells(l))
	}

	widths := make([]int, len(rows[0]))
	total := 0
	for i := range widths {
		for _, r := range rows {
			if i < len(r) {
				widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
			}
		}
		total += widths[i] + 3
	}

	if total-3 <= t.columns {
		for _, r := range rows {
			line := ""
			for i, c := range r[:min(len(r), len(widths))] {
				line += c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+3)
			}
			t.line(line)
		}
		return
	}

	for _, r := range rows[1:] {
		for i, c := range r[:min(len(r), len(widths))] {
			if c == "" {
				continue
			}
			t.first, t.indent = "    ", "    "
			if i == 0 {
				t.first = "- "
			}
			if head := rows[0][i]; head != "" && i > 0 && len(widths) > 2 {
				c = head + ": " + c
			}
			t.words = strings.Fields(c)
			t.flush()
		}
	}
}

// cells are those of a table's row.
func cells(line string) (all []string) {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	line = strings.ReplaceAll(line, `\|`, "\x00")
	for c := range strings.SplitSeq(line, "|") {
		all = append(all, inline(strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|")))
	}
	return all
}
