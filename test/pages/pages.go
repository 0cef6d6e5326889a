// Package pages runs the commands that stand in a page of the documentation and compares what they print.
//
// A command is an indented line that begins with "$ "; what it prints are the indented lines below it. There, "..."
// stands for anything, by itself for any number of lines. A command that goes on in the next line ends with a
// backslash. A fenced block below the comment <!-- file NAME --> is a file that the reader writes at that place.
package pages

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Reader does what a page tells its readers to do.
type Reader struct {
	// Run runs a command and returns what it prints.
	Run func(command string) string
	// Looks reports whether a command changes nothing, so that it may be run again until it prints what it should.
	Looks func(command string) bool
	// Write writes a file; nil where a page has none.
	Write func(name, text string)
	// Update writes the outputs in the page anew.
	Update bool
}

// patience is how long a command that only looks may take until it prints what it should.
const patience = time.Minute

// Follow has the reader do all that the page says, in its order, and returns how many commands that were.
func Follow(t *testing.T, path string, r Reader) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	var out strings.Builder
	run := 0
	for _, s := range parseSteps(string(b)) {
		out.WriteString(s.text)
		at := fmt.Sprintf("%s:%d", path, s.line)
		switch {
		case s.file != "":
			if r.Write == nil {
				t.Fatalf("%s: the page writes a file, %s, which its test isn't made for", at, s.file)
			}
			if !s.named {
				t.Errorf("%s: the text before the block doesn't have the name of the file, %s: no reader sees comments", at, s.file)
			}
			r.Write(s.file, s.content)
		case s.command != "":
			run++
			got := r.Run(s.command)
			for late := time.Now().Add(patience); !Same(s.output, got) && r.Looks(s.command) && time.Now().Before(late); {
				time.Sleep(200 * time.Millisecond)
				got = r.Run(s.command)
			}
			if !r.Update && !Same(s.output, got) {
				t.Fatalf("%s: $ %s printed\n%s\nand should print (-update writes it anew)\n%s", at, s.command, got, s.output)
			}
			if Same(s.output, got) {
				out.WriteString(s.printed)
				continue
			}
			for l := range strings.Lines(got) {
				out.WriteString(strings.TrimRight("    "+l, " \n") + "\n")
			}
		}
	}

	if r.Update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

// step is a piece of a page: text, and what the reader does behind it.
type step struct {
	line    int
	text    string // as it stands in the page
	command string
	output  string // what the command prints
	printed string // the same as it stands in the page
	file    string
	named   bool // the file's name stands in the text above, where a reader sees it
	content string
}

var fileMark = regexp.MustCompile(`^<!-- file (\S+) -->$`)

func parseSteps(page string) (all []step) {
	lines := strings.SplitAfter(page, "\n")
	name := ""                // of the file that the next fenced block is
	var prose strings.Builder // what a reader has seen so far
	for i := 0; i < len(lines); {
		s := step{line: i + 1, text: lines[i]}
		line := strings.TrimRight(lines[i], "\n")
		i++
		switch command, is := strings.CutPrefix(line, "    $ "); {
		case is:
			for strings.HasSuffix(command, "\\") && i < len(lines) {
				s.text += lines[i]
				command = strings.TrimSuffix(command, "\\") + " " + strings.TrimLeft(strings.TrimSpace(lines[i]), "> ")
				i++
			}
			s.command = command
			for ; i < len(lines) && printed(lines[i:]); i++ {
				s.printed += lines[i]
				s.output += strings.TrimPrefix(lines[i], "    ")
			}
		case strings.HasPrefix(line, "```"):
			for i < len(lines) {
				l := lines[i]
				s.text += l
				i++
				if strings.HasPrefix(l, "```") {
					break
				}
				s.content += l
			}
			s.file, s.named = name, strings.Contains(prose.String(), "`"+name+"`")
			name = ""
		default:
			if m := fileMark.FindStringSubmatch(line); m != nil {
				name = m[1]
			} else if !strings.HasPrefix(line, "<!--") {
				prose.WriteString(s.text)
			}
		}

		all = append(all, s)
	}

	return all
}

// printed reports whether the first line is one that a command prints: indented, or empty before such a line.
func printed(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return strings.HasPrefix(l, "    ") && !strings.HasPrefix(l, "    $ ")
		}
	}
	return false
}

// What is another time, number or digest in each run.
var varies = regexp.MustCompile(`-[0-9a-z]{8,10}-[0-9a-z]{5}\b|-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b|sha256:[0-9a-f]{8,}|_[0-9a-f-]{36}|\b[0-9a-f]{12}\b|\d{4}-\d\d-\d\dT[0-9:.]+Z|\b\d+(\.\d+)?(ms|µs|s|m\d*s?|h)?\b|on [^ ,]+, process`)

// normalize makes outputs of different runs the same: numbers, times and digests become #, columns are one blank apart,
// empty lines aren't there.
func normalize(text string) (all []string) {
	for l := range strings.Lines(text) {
		if l = strings.Join(strings.Fields(varies.ReplaceAllString(l, "#")), " "); l != "" {
			all = append(all, l)
		}
	}
	return all
}

// Same reports whether a command has printed what a page says, but for what is another in each run.
func Same(page, printed string) bool { return matchLines(normalize(page), normalize(printed)) }

// matchLines compares line by line.
func matchLines(want, got []string) bool {
	for i, w := range want {
		if w == "..." {
			for j := i; j <= len(got); j++ {
				if matchLines(want[i+1:], got[j:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || !matchLine(w, got[i]) {
			return false
		}
	}
	return len(want) == len(got)
}

// matchLine compares two lines, of which the first may have "..." for anything.
func matchLine(want, got string) bool {
	parts := strings.Split(want, "...")
	rest, ok := strings.CutPrefix(got, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
