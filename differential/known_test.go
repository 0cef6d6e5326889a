package differential

import (
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each rule names a row that the page of differences has, or says that it is chance.
func TestRulesHaveRows(t *testing.T) {
	page, err := os.ReadFile("../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseKnown(knownFile)
	if err != nil {
		t.Fatal(err)
	}

	for i, x := range all {
		if x.Row != "" && !strings.Contains(string(page), "\n| "+x.Row) {
			t.Errorf("entry %d, on %s: no row of docs/differences.md begins with %q", i+1, x.Controller, x.Row)
		}
	}
}

func TestRuleRefused(t *testing.T) {
	const rule = "- {controller: c, kind: sync, match: x, cause: y"
	for file, want := range map[string]string{
		rule + ", row: z}":                                            "",
		rule + ", chance: true}":                                      "",
		rule + "}":                                                    "entry 1: either",
		rule + ", row: ''}":                                           "entry 1: either",
		rule + ", row: z, chance: true}":                              "entry 1: either",
		rule + ", row: z}\n" + rule + "}":                             "entry 2: either",
		rule + ", row: z, deed: '('}":                                 "missing closing )",
		rule + ", row: z, because: y}":                                "because",
		rule + ", row: z, anyOrder: true}":                            "has groups",
		"- {controller: c, kind: text, match: x, cause: y, row: z}":   "has groups",
		"- {controller: c, kind: text, match: (x), cause: y, row: z}": "",
		"- {controller: c, kind: sync, match: x}":                     "must be set",
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
- {controller: c, kind: text, match: 'slice "([^"]*)"', cause: names, chance: true}
- {controller: c, kind: text, match: '^event .*: \[(.*)\]$', anyOrder: true, cause: order, chance: true}
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
		{`event e: [x of a, y of b]`, `event e: [y of b, x of a]`, true},
		{`event e: [x of a, y of b]`, `event e: [x of a, z of b]`, false},
		{`event e: [x of a, y of b]`, `event e: [x of a]`, false},
		{`told: [x, y]`, `told: [y, x]`, false},
	} {
		if same := k.loosened(x.a) == k.loosened(x.b); same != x.same {
			t.Errorf("%s and %s: the same: %t", x.a, x.b, same)
		}
	}
	if k.seen["names"] == 0 || k.seen["order"] == 0 {
		t.Errorf("it isn't counted how often the rules were met: %v", k.seen)
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
