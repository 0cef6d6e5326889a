package differential

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each rule names a row that the page of differences has, and stands in a folder with a subject.
func TestRulesHaveRows(t *testing.T) {
	page, err := os.ReadFile("../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/" + knownFile)
	if err != nil || len(files) == 0 {
		t.Fatal("there are no rules:", err)
	}

	rules := 0
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := parseKnown(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, x := range all {
			if !strings.Contains(string(page), "\n| "+x.Row) {
				t.Errorf("%s: entry %d: no row of docs/differences.md begins with %q", name, i+1, x.Row)
			}
		}
		t.Logf("%3d rules in %s", len(all), name)
		rules += len(all)
	}
	t.Logf("%3d rules", rules)
}

func TestRuleRefused(t *testing.T) {
	const rule = "- {controller: c, kind: sync, match: x, cause: y"
	const event = "- {controller: c, cause: y, row: z, "

	for file, want := range map[string]string{
		rule + ", row: z}":                                            "",
		rule + "}":                                                    "entry 1: controller, cause and row",
		rule + ", row: ''}":                                           "entry 1: controller, cause and row",
		rule + ", row: z}\n" + rule + "}":                             "entry 2: controller, cause and row",
		rule + ", row: z, deed: '('}":                                 "missing closing )",
		rule + ", row: z, because: y}":                                "because",
		rule + ", row: z, chance: true}":                              "chance",
		rule + ", row: z, only: plugin}":                              "has kind and match",
		"- {controller: c, kind: text, match: x, cause: y, row: z}":   "has groups",
		"- {controller: c, kind: text, match: (x), cause: y, row: z}": "",
		"- {controller: c, kind: sync, cause: y, row: z}":             "has kind and match",
		event + "event: Job Warning No, only: plugin}":                "",
		event + "event: Job Warning, only: plugin}":                   "a rule of an event",
		event + "event: Job Warning No, only: both}":                  "a rule of an event",
		event + "event: Job Warning No, only: plugin, match: x}":      "a rule of an event",
	} {
		switch _, err := parseKnown([]byte(file)); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", file, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, should be refused for: %s", file, err, want)
		}
	}
}

// What a rule of text lets differ is what its groups match, and nothing else of the line.
func TestRulesOfText(t *testing.T) {
	rules, err := parseKnown([]byte(`
- {controller: c, kind: text, match: 'slice "([^"]*)"', cause: names, row: x}
`))
	if err != nil {
		t.Fatal(err)
	}
	k := &knowns{texts: rules, seen: map[string]int{}}

	for _, x := range []struct {
		a, b string
		same bool
	}{
		{`slice "a" and slice "b"`, `slice "b" and slice "c"`, true},
		{`slice "a" is gone`, `slice "a" is there`, false},
		{`slice "a"`, `slice ""`, true},
		{`slice "a"`, `slice`, false},
	} {
		if same := k.loosened(x.a) == k.loosened(x.b); same != x.same {
			t.Errorf("%s and %s: the same: %t", x.a, x.b, same)
		}
	}
	if k.seen["names"] == 0 {
		t.Errorf("it isn't counted how often the rules were met: %v", k.seen)
	}
}

// A list in an event's text is a set, and what is in it counts.
func TestListsOfEventsHaveNoOrder(t *testing.T) {
	s := &Subject{known: &knowns{}}
	for _, x := range []struct {
		a, b string
		same bool
	}{
		{`event e: [x of a, y of b]`, `event e: [y of b, x of a]`, true},
		{`event e: [x of a, y of b]`, `event e: [x of a, z of b]`, false},
		{`event e: [x of a, y of b]`, `event e: [x of a]`, false},
		{`told: [x, y]`, `told: [y, x]`, false},
	} {
		if same := s.normal(x.a, nil) == s.normal(x.b, nil); same != x.same {
			t.Errorf("%s and %s: the same: %t", x.a, x.b, same)
		}
	}
}

// An event that only one is known to tell isn't compared, where only that one tells it.
func TestRulesOfEvents(t *testing.T) {
	rules, err := parseKnown([]byte("- {controller: c, event: Job Warning Waits, only: plugin, cause: why, row: z}"))
	if err != nil {
		t.Fatal(err)
	}
	k := &knowns{events: rules, seen: map[string]int{}}
	const waits, other = "event Job default/a Warning Waits: for b", "event Job default/a Normal Waits: for b"
	for _, x := range []struct{ theirs, ours, a, b []string }{
		{[]string{"x"}, []string{"x", waits}, []string{"x"}, []string{"x"}},
		{[]string{waits}, []string{waits}, []string{waits}, []string{waits}},
		{[]string{waits}, nil, []string{waits}, nil},
		{nil, []string{other}, nil, []string{other}},
	} {
		if a, b := k.untold(x.theirs, x.ours); !slices.Equal(a, x.a) || !slices.Equal(b, x.b) {
			t.Errorf("%q beside %q: %q and %q are compared", x.ours, x.theirs, b, a)
		}
	}
	if k.seen["why"] != 1 {
		t.Error("it isn't counted how often the rule was met:", k.seen)
	}
}

// Upstream's plays of a world are a set: what all of them do binds the plugin, what none does it may not do, and an end
// that only one comes to isn't taken for right.
func TestAmong(t *testing.T) {
	type all = []string
	type plays = []outcome
	play := func(theirs uint64, ends bool, lines ...string) outcome {
		return outcome{theirs: theirs, ends: ends, lines: lines}
	}

	for name, x := range map[string]struct {
		ours  []string
		first outcome
		plays []outcome
		want  verdict
	}{
		"another order": {all{"a"}, play(1, false, "b"), plays{play(2, true, "a"), play(2, true, "a")}, right},
		"seldom":        {all{"a"}, play(1, false, "b"), plays{play(2, true, "a"), play(1, false, "b")}, undecided},
		"never":         {all{"a"}, play(1, false, "a"), plays{play(1, false, "a")}, differs},
		"open":          {all{"a"}, play(1, false, "a"), plays{play(2, false, "a")}, undecided},
		"more":          {all{"a", "b"}, play(1, false, "a"), plays{play(2, true, "a"), play(2, true, "a")}, differs},
		"less":          {nil, play(1, false, "a"), plays{play(2, true, "a"), play(3, true, "a", "b")}, differs},
		"less, in some": {nil, play(1, false, "a"), plays{play(2, true), play(3, true, "a", "b")}, right},
		"alone":         {all{"a"}, play(1, false, "a"), nil, differs},
	} {
		d := &Difference{outcome: x.first, ours: x.ours}
		if got, why := d.among(x.plays); got != x.want {
			t.Errorf("%s: %s (%s), should be %q", name, got, why, x.want)
		}
	}
}

// A set in another order is the same, and what is in it counts.
func TestSetsHaveNoOrder(t *testing.T) {
	pod := func(names ...string) string {
		p := &corev1.Pod{}
		for _, name := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name})
		}
		return text(p)
	}
	if pod("a", "b") != pod("b", "a") || pod("a", "b") == pod("a", "c") || pod("a", "b") == pod("a") {
		t.Errorf("%s", pod("b", "a"))
	}

	job := func(uids ...types.UID) string {
		j := &batchv1.Job{}
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: uids}
		return text(j)
	}
	if job("1", "2") != job("2", "1") || job("1", "2") == job("1", "3") {
		t.Errorf("%s", job("2", "1"))
	}

	container := func(names ...string) string {
		p := &corev1.Pod{}
		for _, name := range names {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name})
		}
		return text(p)
	}
	if container("a", "b") == container("b", "a") {
		t.Error("the order of containers counts")
	}
}
