package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/author/golden"
)

// What is wrong with a file is said with the file, the line and the case.
func TestBadFiles(t *testing.T) {
	two := "# Why.\ncase: one\n" + set + "want: {}\n---\n"

	for _, x := range []struct {
		name, text string
		says       []string
	}{
		{"twice", two + "case: one\n" + set,
			[]string{"topic.yaml:9: case one: there is another case of this name in line 2"}},
		{"no name", two + set, []string{"topic.yaml:9: case : it has no name"}},
		{"a blank in a name", "case: one two\n" + set, []string{`its name "one two"`}},
		{"no key", two + "case: two\nnow: \"2030-01-01T00:00:00Z\"\n", []string{"topic.yaml:9: case two: key and now"}},
		{"unknown field", two + "case: two\n" + set + "object: []\n",
			[]string{"topic.yaml:9: case two: line 14: unknown field \"object\""}},
		{"unknown field below", two + "case: two\n" + set + "failures:\n- effect: create\n  reason: Conflict\n  nam: a\n",
			[]string{"case two: line 17: unknown field \"failures[0].nam\""}},
		{"another case", two + "case: two\n" + set + "Live: []\n", []string{"case two: line 14: unknown field \"Live\""}},
		{"unknown field in want", two + "case: two\n" + set + "want:\n  effect: []\n",
			[]string{"case two: line 15: unknown field \"want.effect\""}},
		{"field twice", two + "case: two\n" + set + "key: default/other\n", []string{"topic.yaml", "line 14", "key"}},
		{"an effect that there isn't", "case: one\n" + set + "failures: [{effect: craete, reason: Conflict}]\n",
			[]string{`failures[0].effect "craete": must be one of apply, create`}},
		{"no reason", "case: one\n" + set + "failures: [{effect: create}]\n", []string{"failures[0].reason must be set"}},
		{"want in the middle", "case: one\nwant: {}\n" + set,
			[]string{"line 2: want stands at the end of its case: move objects"}},
		{"no mapping", two + "- a\n", []string{"topic.yaml", "line 9", "case: NAME"}},
		{"more on the line", "--- {case: one}\n", []string{"line 1: between cases is a line of ---"}},
		{"no YAML", two + "case: [\n", []string{"topic.yaml", "line 9"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := golden.ReadFile(writeFile(t, "topic.yaml", x.text))
			for _, says := range x.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v, should say %q", err, says)
				}
			}
		})
	}
}

// A folder has cases, and files for other ends.
func TestCases(t *testing.T) {
	file := writeFile(t, "b.yaml", "# About all of them.\n---\n# First.\ncase: one\n"+set+"---\ncase: two\n"+set+
		"---\ncase: off\n"+set+"---\n# End.\n")
	folder := filepath.Dir(file)
	for name, text := range map[string]string{
		"a.yaml": "case: one\n" + set, "wakes.yaml": "events: []", "wakes-nodes.yaml": "events: []",
		"world.yaml": "objects: []",
		"notes.txt":  "nothing",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := golden.Cases(folder)
	if err != nil {
		t.Fatal(err)
	}

	ids := func(cases []*golden.Case) (all []string) {
		for _, c := range cases {
			all = append(all, c.ID())
		}
		return all
	}
	if d := cmp.Diff([]string{"a/one", "b/one", "b/two", "b/off"}, ids(cases)); d != "" {
		t.Error(d)
	}
	for pattern, want := range map[string][]string{
		"": ids(cases), "b": {"b/one", "b/two", "b/off"}, "/one": {"a/one", "b/one"}, "b/^t": {"b/two"}, "a/two": nil,
		"a/one/more": nil,
	} {
		p, err := golden.NewPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, ids(p.Of(cases))); d != "" {
			t.Errorf("%q: %s", pattern, d)
		}
	}
	if _, err := golden.NewPattern("a/("); err == nil {
		t.Error("a pattern that is none")
	}

	if _, err := golden.Cases(t.TempDir()); err == nil || !strings.Contains(err.Error(), "TOPIC.yaml") {
		t.Errorf("a folder without cases: %v", err)
	}
}

// An update writes one case's want, and leaves every other byte as it is.
func TestUpdate(t *testing.T) {
	const out = "effects:\n- do: create v1/pods default/\n  object:\n    text: |\n      a\n\n      b\nerror: bad\n"
	const indented = "want:\n  effects:\n  - do: create v1/pods default/\n    object:\n      text: |\n        a\n\n        b\n  error: bad\n"
	before := "# All.\n---\n# One.\ncase: one # here\n" + set + "want: {}\n---\n"
	after := "---\n# Three.\ncase: three\n" + strings.ReplaceAll(set, "key: ", "key:    ") +
		"want: {effects: []} # none\n# End.\n"
	input := "# Two,\n# in two lines.\n\ncase:   'two'\n" + set + "failures: []   # none\n"
	for _, x := range []struct{ name, old, want string }{
		{"none yet", input, input + indented},
		{"nothing", input + "want: {}\n", input + indented},
		{"another one", input + "want:\n  # so far\n  error: other\n\n", input + indented + "\n"},
		{"with a comment behind", input + "want:\n  error: other\n# behind\n", input + indented + "# behind\n"},
		{"none yet, with a comment behind", input + "\n# behind\n\n", input + indented + "\n# behind\n\n"},
		{"the same in other words",
			input + "want: # this\n  error: \"bad\"\n  effects: [{do: create v1/pods default/, object: {text: \"a\\n\\nb\\n\"}}]\n",
			input + "want: # this\n  error: \"bad\"\n  effects: [{do: create v1/pods default/, object: {text: \"a\\n\\nb\\n\"}}]\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := writeFile(t, "topic.yaml", before+x.old+after)
			cases, err := golden.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := cases[1].Update(out); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before+x.want+after, string(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info.Mode(), err)
			}

			cases, err = golden.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if wanted, err := cases[1].Wanted(); err != nil || wanted != out {
				t.Errorf("%v: %s", err, wanted)
			}
		})
	}

	t.Run("at the end of a file without a newline", func(t *testing.T) {
		file := writeFile(t, "topic.yaml", "case: one\n"+strings.TrimSuffix(set, "\n"))
		cases, err := golden.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cases[0].Wanted(); err == nil || !strings.Contains(err.Error(), "-update") {
			t.Errorf("a case without want: %v", err)
		}
		if err := cases[0].Update("{}\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "case: one\n"+set+"want: {}\n" {
			t.Errorf("%v: %s", err, got)
		}
	})

	t.Run("in a layout that can't be added to", func(t *testing.T) {
		text := `{case: one, key: a, now: "2030-01-01T00:00:00Z"}` + "\n"
		file := writeFile(t, "topic.yaml", text)
		cases, err := golden.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := cases[0].Update("{}\n"); err == nil || !strings.Contains(err.Error(), "plain lines") {
			t.Error(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%v: %s", err, got)
		}
	})
}
