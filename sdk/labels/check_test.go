package labels

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	upstreammeta "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

func TestCheck(t *testing.T) {
	for _, x := range []struct {
		name     string
		selector *metav1.LabelSelector
		ok       bool
	}{
		{"none", nil, true},
		{"labels", &metav1.LabelSelector{MatchLabels: stringMap("app", "web")}, true},
		{"in", expression("a", metav1.LabelSelectorOpIn, "x"), true},
		{"in nothing", expression("a", metav1.LabelSelectorOpIn), false},
		{"not in nothing", expression("a", metav1.LabelSelectorOpNotIn), false},
		{"exists", expression("a", metav1.LabelSelectorOpExists), true},
		{"exists with values", expression("a", metav1.LabelSelectorOpExists, "x"), false},
		{"unknown", expression("a", "Gt", "1"), false},
	} {
		if err := Check(x.selector); (err == nil) != x.ok {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

func TestValidValue(t *testing.T) {
	long := "a123456789b123456789c123456789d123456789e123456789f123456789g12"
	for s, want := range map[string]bool{"": true, "a": true, "A-b_c.9": true, "-a": false, "a-": false, "a b": false,
		"ü": false, ".": false, long: true, long + "3": false} {
		if got := ValidValue(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// values are what labels have, and what they can't have, as keys and as values.
var values = []string{"", "a", "A-b_c.9", "-a", "a-", "a b", "ü", ".", "a\nb", "\"", "\\", "<&>",
	"\x01\x7f\a\b\f\v\r\t",
	"tier/web", "a/b/c", "/a", "a/", "/", "x.io/a", "X.io/a", "x..io/a", "-x/a", "x-/a", "x.-y/a", "x.io/-a",
	longName(63), longName(64), longName(64) + "-", "x.io/" + longName(64),
	longName(253) + "/a", longName(254) + "/a", longName(254) + "./" + longName(64)}

func longName(n int) string { return strings.Repeat("a", n) }

// operators are those of label selectors, and others.
var operators = []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "", "in", "\"ü\n"}

// asUpstream compares what is said of a selector with what apimachinery says, and returns whether both refuse it.
func asUpstream(t *testing.T, label bool, key, operator string, list []string) bool {
	t.Helper()
	var ours metav1.LabelSelector
	var theirs upstreammeta.LabelSelector
	if label {
		ours.MatchLabels.Set(key, list[0])
		theirs.MatchLabels = map[string]string{key: list[0]}
	} else {
		op, up := metav1.LabelSelectorOperator(operator), upstreammeta.LabelSelectorOperator(operator)
		ours.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: list}}
		theirs.MatchExpressions = []upstreammeta.LabelSelectorRequirement{{Key: key, Operator: up, Values: list}}
	}

	_, want := upstreammeta.LabelSelectorAsSelector(&theirs)
	got := Check(&ours)
	if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
		t.Fatalf("key %q, operator %q, values %q: %v\nwant %v", key, operator, list, got, want)
	}
	return got != nil
}

// What is refused, and with which words, is what apimachinery refuses.
func TestCheckAsUpstream(t *testing.T) {
	tried, refused := 0, 0
	try := func(label bool, key, operator string, list ...string) {
		tried++
		if asUpstream(t, label, key, operator, list) {
			refused++
		}
	}

	for _, key := range values {
		for i, v := range values {
			try(true, key, "", v)
			for _, op := range operators {
				try(false, key, string(op))
				try(false, key, string(op), v)
				try(false, key, string(op), v, values[(i+7)%len(values)], "b")
			}
		}
	}
	if refused < 1000 || tried-refused < 100 {
		t.Errorf("of %d selectors %d are refused: these aren't many inputs", tried, refused)
	}
}

func FuzzCheck_as_upstream(f *testing.F) {
	for i, s := range values {
		f.Add(s, string(operators[i%len(operators)]), values[(i+5)%len(values)])
	}
	f.Fuzz(func(t *testing.T, key, operator, value string) {
		odd := func(r rune) bool { return r > 0x7f && !strconv.IsPrint(r) }
		for _, s := range []string{key, operator, value} {
			if !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
				return // not escaped here; and what isn't UTF-8 no object holds
			}
		}
		asUpstream(t, true, key, "", []string{value})
		asUpstream(t, false, key, operator, []string{value, "a"})
	})
}
