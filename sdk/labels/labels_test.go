package labels

import (
	"testing"

	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

func stringMap(kv ...string) (m metav1.StringMap) {
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
	both.MatchLabels = stringMap("app", "web")

	for _, x := range []struct {
		name     string
		selector *metav1.LabelSelector
		labels   metav1.StringMap
		want     bool
	}{
		{"none", nil, nil, false},
		{"empty", &metav1.LabelSelector{}, nil, true},
		{"empty, with labels", &metav1.LabelSelector{}, stringMap("app", "web"), true},
		{"labels", &metav1.LabelSelector{MatchLabels: stringMap("app", "web")}, stringMap("tier", "x", "app", "web"), true},
		{"another value", &metav1.LabelSelector{MatchLabels: stringMap("app", "web")}, stringMap("app", "x"), false},
		{"an empty value isn't an absent one", &metav1.LabelSelector{MatchLabels: stringMap("app", "")},
			stringMap("tier", "x"), false},
		{"both", both, stringMap("app", "web", "tier", ""), true},
		{"one of both", both, stringMap("app", "web"), false},
		{"in", expression("app", metav1.LabelSelectorOpIn, "a", "b"), stringMap("app", "b"), true},
		{"not in", expression("app", metav1.LabelSelectorOpNotIn, "a", "b"), stringMap("app", "b"), false},
		{"in, absent", expression("app", metav1.LabelSelectorOpIn, ""), nil, false},
		{"not in, absent", expression("app", metav1.LabelSelectorOpNotIn, "a"), nil, true},
		{"exists", expression("app", metav1.LabelSelectorOpExists), stringMap("app", ""), true},
		{"exists, absent", expression("app", metav1.LabelSelectorOpExists), stringMap("ap", ""), false},
		{"does not exist", expression("app", metav1.LabelSelectorOpDoesNotExist), stringMap("app", ""), false},
		{"does not exist, absent", expression("app", metav1.LabelSelectorOpDoesNotExist), stringMap("ap", ""), true},
		{"unknown operator", expression("app", "Gt", "1"), stringMap("app", "2"), false},
	} {
		if got := Selects(x.selector, x.labels); got != x.want {
			t.Errorf("%s: %t", x.name, got)
		}
	}
}
