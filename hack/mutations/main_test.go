package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// No mutation rots: its text is where it was, what takes its place can be read, and the tests that are meant to find
// it are there.
func TestPlanted(t *testing.T) {
	all, err := loadMutations("planted")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Errorf("%d mutations are left, there were 30", len(all))
	}
	for _, m := range all {
		text, err := m.mutatedFile(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, text, parser.SkipObjectResolution); err != nil {
			t.Errorf("mutation %s can't be read: %v", m.Name, err)
		}
		if !strings.HasSuffix(m.File, ".go") || strings.HasSuffix(m.File, "_test.go") {
			t.Errorf("mutation %s is in %s: only our own code is judged", m.Name, m.File)
		}
		if err := hasTests(m); err != "" {
			t.Errorf("mutation %s: %s", m.Name, err)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w*)\(`)

// hasTests says what is missing of a mutation's tests.
func hasTests(m *Mutation) string {
	if len(m.packages()) == 0 {
		return "its test names no package"
	}
	first, _, _ := strings.Cut(m.testPattern(), "/")
	pattern, err := regexp.Compile(first)
	if err != nil {
		return err.Error()
	}

	for _, folder := range m.packages() {
		files, err := filepath.Glob(filepath.Join(root, m.Module, folder, "*_test.go"))
		if err != nil {
			return err.Error()
		}
		there := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err.Error()
			}
			for _, f := range testFunction.FindAllSubmatch(text, -1) {
				there = there || pattern.Match(f[1])
			}
		}
		if !there {
			return filepath.Join(m.Module, folder) + " has no test " + first
		}
	}
	return ""
}

// The runner tells what a mutation shows from what it doesn't.
func TestVerdicts(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/half\n\ngo 1.26\n",
		"half.go": `package half

func Half(n int) int { return n / 2 }

func Unseen(n int) int { return n }

func Drain(n int) {
	for n > 0 {
		n--
	}
}
`,
		"half_test.go": `package half

import "testing"

func TestHalf(t *testing.T) {
	t.Run("of four", func(t *testing.T) {
		if Half(4) != 2 {
			t.Error("not two")
		}
	})
}

func TestDrain(t *testing.T) { Drain(3) }

func TestWrong(t *testing.T) { t.Error("always") }
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const half = "-run TestHalf ."
	r := &runner{root: folder, timeout: 5 * time.Minute, passed: map[string]error{}}
	endless := &runner{root: folder, timeout: time.Second, passed: r.passed}
	endless.passed[(&Mutation{Test: "-run TestDrain ."}).command()] = nil
	for _, c := range []struct {
		name, text, with, test string
		verdict, by            string
		runner                 *runner
	}{
		{"found", "n / 2", "n / 3", half, found, "TestHalf/of_four", r},
		{"panics", "n / 2", "n / (n - n)", half, found, "TestHalf/of_four", r},
		{"survives", "{ return n }", "{ return -n }", half, survived, "", r},
		{"no Go", "n / 2", "n // 2", half, broken, "it doesn't build", r},
		{"no type", "n / 2", `"2"`, half, broken, "it doesn't build", r},
		{"stale", "n / 4", "n / 3", half, broken, "has its text 0 times", r},
		{"twice", "n int", "n int8", half, broken, "has its text 3 times", r},
		{"no test", "n / 2", "n / 3", "-run TestNothing .", broken, "no test has run", r},
		{"fails anyway", "n / 2", "n / 3", "-run TestWrong .", broken, "without the mutation: TestWrong fails", r},
		{"endless", "n--", "n++; n--", "-run TestDrain .", broken, "don't end", endless},
	} {
		m := &Mutation{Name: c.name, File: "half.go", Text: c.text, With: c.with, Test: c.test}
		x := c.runner.tryMutation(t.Context(), m)
		if x.verdict != c.verdict || !strings.Contains(x.by, c.by) {
			t.Errorf("%s: %s by %q, expected %s by %q", c.name, x.verdict, x.by, c.verdict, c.by)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "half.go"))
	if err != nil || !strings.Contains(string(text), "n / 2") {
		t.Errorf("the tree was changed (%v):\n%s", err, text)
	}

	for _, verdict := range []string{survived, broken} {
		results := []result{{Mutation: &Mutation{Name: "x"}, verdict: verdict}}
		if err := printReport(results, time.Second); err == nil || !strings.Contains(err.Error(), "not found: x") {
			t.Errorf("one that is %s: %v", verdict, err)
		}
	}
	if err := printReport([]result{{Mutation: &Mutation{Name: "x"}, verdict: found}}, time.Second); err != nil {
		t.Errorf("one that was found: %v", err)
	}
}
