package labels

import (
	"strings"
	"testing"

	upstreammeta "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/apimachinery/pkg/labels"

	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

var selectors = []string{"", " ", "app=web", "app==web", "app!=web", "app = web , tier", "!app", "! app",
	"app in (a,b)", "app in(a)", "app notin ( a , )", "app in ()", "a=,b",
	"in in (in)", "app=in", "a,", ",a", "a,,b", "a b", "a=b c", "a in (b", "a in b", "a in (b))", "a in ((b))", "x.io/a=b",
	"X.io/a=b", "x..io/a", "-x/a", "/a", "a/", "a=-b", "a=b/c",
	"a!", "!", "=", "a===b", "a!==b", "!a=b", "a in (b)c", "a (b)", "a notin b", "not in (a)", "a not in (b)", "a\t=\nb",
	strings.Repeat("a", 64), "a=" + strings.Repeat("b", 64)}

// What Parse takes upstream takes too, and the other way round; both select the same labels.
func FuzzParse_as_upstream(f *testing.F) {
	for _, s := range selectors {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "<>\x00") {
			return // not understood here; and upstream ends at a NUL
		}
		want, err := upstream.Parse(s)
		got, ours := Parse(s)
		if (err == nil) != (ours == nil) {
			t.Fatalf("%q: %v; upstream: %v", s, ours, err)
		}
		if err != nil {
			return
		}
		for _, l := range []map[string]string{nil, {"app": "web"}, {"app": "a", "tier": "x"}, {"a": "", "b": "y"},
			{"a": "b", "in": "in"}, {"x.io/a": "b", "app": ""}} {
			var ls metav1.StringMap
			for k, v := range l {
				ls.Set(k, v)
			}
			if Selects(got, ls) != want.Matches(upstream.Set(l)) {
				t.Errorf("%q, labels %v: %t", s, l, Selects(got, ls))
			}
		}
	})
}

// Format writes what upstream writes, and Parse reads it.
func TestFormat(t *testing.T) {
	s := &metav1.LabelSelector{MatchLabels: stringMap("tier", "x", "app", "web"),
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "b", Operator: metav1.LabelSelectorOpIn, Values: []string{"z", "y", "x"}},
			{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}},
			{Key: "new", Operator: metav1.LabelSelectorOpExists}, {Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	want, err := upstreammeta.LabelSelectorAsSelector(&upstreammeta.LabelSelector{MatchLabels: map[string]string{"tier": "x", "app": "web"}, MatchExpressions: []upstreammeta.LabelSelectorRequirement{
		{Key: "b", Operator: "In", Values: []string{"z", "y", "x"}}, {Key: "zone", Operator: "NotIn", Values: []string{"a"}},
		{Key: "new", Operator: "Exists"}, {Key: "old", Operator: "DoesNotExist"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := Format(s); got != want.String() {
		t.Errorf("%s, should be %s", got, want)
	}
	if _, err := Parse(Format(s)); err != nil {
		t.Error(err)
	}
	if Format(nil) != "" || Format(&metav1.LabelSelector{}) != "" {
		t.Error("no selector has a form")
	}
}
