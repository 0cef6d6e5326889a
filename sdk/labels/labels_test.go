package labels

import (
	"testing"

	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

func set(kv ...string) (m metav1.StringMap) {
	for i := 0; i < len(kv); i += 2 {
		m.Set(kv[i], kv[i+1])
	}
	return m
}

func expression(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op,
		Values: values}}}
}

func TestSelects(t *testing.T) {
	both := expression("tier", metav1.LabelSelectorOpExists)
	both.MatchLabels = set("app", "web")

	for _, x := range []struct {
		name     string
		selector *metav1.LabelSelector
		labels   metav1.StringMap
		want     bool
	}{
		{"none", nil, nil, false},
		{"empty", &metav1.LabelSelector{}, nil, true},
		{"empty, with labels", &metav1.LabelSelector{}, set("app", "web"), true},
		{"labels", &metav1.LabelSelector{MatchLabels: set("app", "web")}, set("tier", "x", "app", "web"), true},
		{"another value", &metav1.LabelSelector{MatchLabels: set("app", "web")}, set("app", "x"), false},
		{"an empty value isn't an absent one", &metav1.LabelSelector{MatchLabels: set("app", "")}, set("tier", "x"), false},
		{"both", both, set("app", "web", "tier", ""), true},
		{"one of both", both, set("app", "web"), false},
		{"in", expression("app", metav1.LabelSelectorOpIn, "a", "b"), set("app", "b"), true},
		{"not in", expression("app", metav1.LabelSelectorOpNotIn, "a", "b"), set("app", "b"), false},
		{"in, absent", expression("app", metav1.LabelSelectorOpIn, ""), nil, false},
		{"not in, absent", expression("app", metav1.LabelSelectorOpNotIn, "a"), nil, true},
		{"exists", expression("app", metav1.LabelSelectorOpExists), set("app", ""), true},
		{"exists, absent", expression("app", metav1.LabelSelectorOpExists), set("ap", ""), false},
		{"does not exist", expression("app", metav1.LabelSelectorOpDoesNotExist), set("app", ""), false},
		{"does not exist, absent", expression("app", metav1.LabelSelectorOpDoesNotExist), set("ap", ""), true},
		{"unknown operator", expression("app", "Gt", "1"), set("app", "2"), false},
	} {
		if got := Selects(x.selector, x.labels); got != x.want {
			t.Errorf("%s: %t", x.name, got)
		}
	}
}
