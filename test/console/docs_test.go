package console

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/windlass"
)

const docs = "../../docs/console.md"

// What is another time, number or digest in each run.
var varies = regexp.MustCompile(`-[0-9a-z]{8,10}-[0-9a-z]{5}\b|sha256:[0-9a-f]{8,}|_[0-9a-f-]{36}|\b[0-9a-f]{12}\b|\b\d+(\.\d+)?(ms|s|m\d*s?|h)?\b|on [^ ,]+, process`)

// same makes outputs of different runs the same: numbers, times and digests become #, and columns are one blank apart.
func same(line string) string {
	return strings.Join(strings.Fields(varies.ReplaceAllString(line, "#")), " ")
}

// documented runs the commands of docs/console.md as they stand there, and compares what they print.
func documented(t *testing.T, w *world) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	run := 0
	lines := strings.SplitAfter(string(b), "\n")
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "    $ windlass ")
		out.WriteString(lines[i])
		i++
		if !ok {
			continue
		}
		run++
		var want []string
		for ; i < len(lines) && printed(lines[i:]); i++ {
			want = append(want, strings.TrimSpace(lines[i]))
		}
		got := ""
		check := func() (bool, string) {
			got, _ = w.tell(t, strings.Fields(command)...)
			return *update || gist(got) == gist(strings.Join(want, "\n")), got
		}
		windlass.EventuallyEvery(t, 200*time.Millisecond, 10*time.Second, "docs/console.md: $ windlass "+strings.TrimSpace(command)+" prints what it says there (-update writes it anew)", check)
		for l := range strings.Lines(strings.ReplaceAll(got, name, "control-plane-1")) {
			out.WriteString(strings.TrimRight("    "+l, " \n") + "\n")
		}
	}
	if run < 4 {
		t.Errorf("docs/console.md has %d commands", run)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// printed tells whether the first line is one that a command prints: indented, or empty before such a line.
func printed(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return strings.HasPrefix(l, "    ") && !strings.HasPrefix(l, "    $ ")
		}
	}
	return false
}

// gist leaves out of an output what differs from run to run, and lines without text.
func gist(text string) string {
	var all []string
	for l := range strings.Lines(text) {
		if l = same(l); l != "" {
			all = append(all, l)
		}
	}
	return strings.Join(all, "\n")
}
