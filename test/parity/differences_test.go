package parity

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/test/life"
)

// bugsFile has the differences that aren't meant, each with its cause: they are to be mended.
const bugsFile = "differences.yaml"

// metricsScript stands for the metrics that were served when all lives had been played.
const metricsScript = "metrics"

// bug is one of them.
type bug struct {
	Script    string `json:"script"` // such as deployment/work
	What      string `json:"what"`   // the line that differs, with * for any text
	Cause     string `json:"cause"`
	Sometimes bool   `json:"sometimes"` // it takes luck to see it
}

func (b bug) isOfPart(p *part) bool { return b.Script == p.name() }

func readBugs(t testing.TB) (all []bug) {
	t.Helper()
	text, err := os.ReadFile(bugsFile)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Script == "" || b.What == "" || b.Cause == "" {
			t.Errorf("%s: %+v wants a script, what differs and the cause", bugsFile, b)
		}
	}
	return all
}

// unmeant are those of the differences that nobody has told of.
func unmeant(p *part, bugs []bug, found []string) (all []string) {
next:
	for _, line := range found {
		for _, d := range p.script.Differences {
			if matchesPattern(d.What, line) {
				continue next
			}
		}
		for _, b := range bugs {
			if b.isOfPart(p) && matchesPattern(b.What, line) {
				continue next
			}
		}
		all = append(all, line)
	}
	return all
}

// staleBugs returns the differences that are told of and not there.
func staleBugs(p *part, bugs []bug, found []string) (all []string) {
	seen := func(what string) bool {
		for _, line := range found {
			if matchesPattern(what, line) {
				return true
			}
		}
		return false
	}
	for _, d := range p.script.Differences {
		if !d.Sometimes && !seen(d.What) {
			all = append(all, d.What)
		}
	}
	for _, b := range bugs {
		if b.isOfPart(p) && !b.Sometimes && !seen(b.What) {
			all = append(all, b.What)
		}
	}
	return all
}

// matchesPattern reports whether a difference's line is meant: the pattern, in which * is any text, is of all of it or
// of its path.
func matchesPattern(pattern, line string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(line, parts[0])
	for _, part := range parts[1:] {
		i := strings.Index(rest, part)
		if !ok || i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return ok && (rest == "" || strings.HasPrefix(rest, ": ") || strings.HasSuffix(pattern, "*"))
}

func TestFits(t *testing.T) {
	for _, x := range []struct {
		pattern, line string
		want          bool
	}{
		{"Pod a status.phase", "Pod a status.phase: native Running, Windlass Failed", true},
		{"Pod a status.phase", "Pod a status.phaseless: native Running, Windlass Failed", false},
		{"Pod * status.*", "Pod web-0 status.conditions[Ready].status: only native: True", true},
		{"Pod * status.*", "Job web-0 status.active: only native: 1", false},
		{"event of * FailedCreate *", "event of v1 Job j : Warning FailedCreate by x: text: only native: 1 times", true},
		{"*Windlass 3", "Pod a x: native 2, Windlass 3", true},
		{"*Windlass 3", "Pod a x: native 2, Windlass 34", false},
	} {
		if got := matchesPattern(x.pattern, x.line); got != x.want {
			t.Errorf("%q on %q: %v", x.pattern, x.line, got)
		}
	}
}

// Each difference that a life tells of has its row in docs/differences.md.
func TestRows(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loadLives(t) {
		for _, s := range append(l.Scripts(), &life.Script{Name: "requests", Differences: l.Requests}) {
			for _, d := range s.Differences {
				if !strings.Contains(string(text), "\n| "+d.Row) {
					t.Errorf("%s/%s: docs/differences.md has no row that begins with %q", l.Plugin, s.Name, d.Row)
				}
			}
		}
	}
}

// Each difference that isn't meant is of a script.
func TestBugs(t *testing.T) {
	all := append(allParts(loadLives(t)), workloads...)
	for _, b := range readBugs(t) {
		if b.Script != metricsScript && !slices.ContainsFunc(all, b.isOfPart) {
			t.Errorf("%s: %s is no script", bugsFile, b.Script)
		}
	}
}
