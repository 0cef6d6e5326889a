package differential

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
		if rules += len(all); len(all) > 15 {
			t.Errorf("%s: %d rules are more than 15: the comparison is at the wrong grain", name, len(all))
		}
	}
	if t.Logf("%3d rules", rules); rules > 80 {
		t.Errorf("%d rules are more than 80", rules)
	}
}

func TestRuleRefused(t *testing.T) {
	const rule = "- {row: z, cause: y, differs: [upstream again]"

	for file, want := range map[string]string{
		rule + "}":                                    "",
		"- {row: z, cause: y}":                        "entry 1: row, cause and differs",
		"- {row: z, differs: [again]}":                "entry 1: row, cause and differs",
		rule + "}\n- {cause: y, differs: [again]}":    "entry 2: row, cause and differs",
		"- {row: z, cause: y, differs: [(.*)]}":       "begins with no verb",
		"- {row: z, cause: y, differs: [ours again]}": "begins with no verb",
		rule + ", because: y}":                        "because",
		rule + ", chance: true}":                      "chance",
		rule + ", when: [{}]}":                        "a situation says something",
		rule + ", when: [{kind: Pod, value: x}]}":     "a value is that of a path",
		rule + ", when: [{late: true}]}":              "",
		rule + ", when: [{with: nothing}]}":           "with: ",
	} {
		switch _, err := parseKnown([]byte(file)); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", file, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, should be refused for: %s", file, err, want)
		}
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

// An event that one of them is always known to tell alone isn't compared, where only that one tells it.
func TestRulesOfEvents(t *testing.T) {
	rules, err := parseKnown([]byte("- {row: z, cause: y, differs: [plugin event Job Warning Waits], goesOn: true}"))
	if err != nil {
		t.Fatal(err)
	}
	k := &knowns{rules: rules}
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
	if rules[0].seen != 1 {
		t.Error("it isn't counted how often the rule was met:", rules[0].seen)
	}
}

// A difference is taken apart into what it is about, without names and values.
func TestAtoms(t *testing.T) {
	of := func(all ...string) remains { return remains{lines: all} }
	object := func(text string) remains { return remains{objects: map[string]string{"pods a/b": text}} }
	const status = "update jobs/status a/b\nstatus:\n  active: "

	for name, x := range map[string]struct {
		theirs, ours remains
		want         string
	}{
		"a write":             {of("delete pods a/b Foreground"), of(), "upstream delete pods Foreground"},
		"a write that fails":  {of(), of("create pods a/ fails: Invalid\nspec: {}"), "plugin create pods fails Invalid"},
		"a field":             {of(status + "1"), of(status + "2"), "update jobs/status status.active"},
		"a field in a list":   {object("c:\n- d: 1\n  e: 1\n"), object("c:\n- d: 1\n"), "object pods c.e"},
		"an object":           {object("c: 1"), of(), "upstream object pods"},
		"an event's text":     {of("event Job a/b Normal C: d"), of("event Job a/b Normal C: e"), "event Job Normal C text"},
		"an event":            {of(), of("event Job a/b Normal C: e"), "plugin event Job Normal C"},
		"a later time":        {of("a/b again after 1s"), of("a/b again after 2s"), "again later"},
		"a sooner time":       {of("a/b again after 1m1s"), of("a/b again after 2s"), "again sooner"},
		"no time":             {of("again after 1s"), of("fails"), "plugin fails; upstream again"},
		"a series":            {of("metric x a=b 1"), of("metric x a=b 2"), "metric x"},
		"the order":           {of("wakes a", "wakes b"), of("wakes b", "wakes a"), "order"},
		"a line of a subject": {of("a/b: in the end IPv4 name: x"), of(), "upstream sum in the end"},
	} {
		var all []string
		for _, a := range atomsOf(x.theirs, x.ours) {
			all = append(all, a.String())
		}
		if got := strings.Join(all, "; "); got != x.want {
			t.Errorf("%s: %s, should be: %s", name, got, x.want)
		}
	}
}

// A rule covers what it names as far as it goes, of the side that it names, in one of its situations.
func TestRuleCovers(t *testing.T) {
	o := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a.b/c": "d"}}}
	theirs := func(lines ...string) *Difference {
		return &Difference{Kind: "sync", theirs: remains{lines: lines}, writes: []string{"create pods fails Invalid"},
			Deed: "x of y", objects: func() []runtime.Object { return []runtime.Object{o} }}
	}

	for rule, covers := range map[string]bool{
		"differs: [delete pods]":                                             true,
		"differs: [delete]":                                                  true,
		"differs: ['delete * fails']":                                        false,
		"differs: [plugin delete pods]":                                      false,
		"differs: [delete po]":                                               false,
		"differs: [delete pods, event], when: [{late: true}]":                false,
		"differs: [delete pods], when: [{late: true}, {wrote: create pods}]": true,
		"differs: [delete pods], when: [{wrote: create pods fails Invalid, deed: of z}]":        false,
		"differs: [delete pods], when: [{woken: update pods}]":                                  false,
		`differs: [delete pods], when: [{kind: Pod, path: 'metadata.labels.a\.b/c', value: d}]`: true,
		`differs: [delete pods], when: [{kind: Pod, path: 'metadata.labels.a\.b/c', value: e}]`: false,
		"differs: [delete pods], when: [{kind: Node}]":                                          false,
	} {
		rules, err := parseKnown([]byte("- {row: z, cause: y, " + rule + "}"))
		if err != nil {
			t.Fatal(rule, err)
		}
		if is := (&knowns{rules: rules}).has(theirs("delete pods a/b")); is != covers {
			t.Errorf("%s covers it: %t", rule, is)
		}
	}

	rules, err := parseKnown([]byte("- {row: z, cause: y, differs: [delete pods]}"))
	if err != nil {
		t.Fatal(err)
	}
	if (&knowns{rules: rules}).has(theirs("delete pods a/b", "delete nodes c")) {
		t.Error("a rule of a part covers the whole")
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

	often := func(n int) map[string]int { return map[string]int{"update pods": n} }
	for ours, want := range map[int]verdict{1: right, 3: right, 4: differs} {
		d := &Difference{outcome: outcome{writes: often(1)}, changes: often(ours)}
		upstreams := plays{{theirs: 1, ends: true, writes: often(3)}, {theirs: 2, ends: true, writes: often(2)}}
		if got, why := d.among(upstreams); got != want {
			t.Errorf("%d writes: %s (%s), should be %q", ours, got, why, want)
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
