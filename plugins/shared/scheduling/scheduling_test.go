package scheduling

import (
	"testing"

	"k8s.io/klog/v2"

	k8scorev1 "k8s.io/api/core/v1"

	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

func labelledNode(labels ...string) *Node {
	n := &Node{}
	n.Name = "n1"
	for i := 0; i < len(labels); i += 2 {
		n.Labels.Set(labels[i], labels[i+1])
	}
	return n
}

type requirement = corev1.NodeSelectorRequirement

func required(terms ...corev1.NodeSelectorTerm) *corev1.PodSpec {
	return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
}

func byLabel(r ...requirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: r}
}

func byField(r ...requirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: r}
}

// The cases are those of k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
func TestAttracted(t *testing.T) {
	const (
		in, notIn, exists, not, gt, lt = corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt
	)

	n := labelledNode("disk", "ssd", "cores", "12", "low", "-5")
	selector := func(kv ...string) *corev1.PodSpec {
		s := &corev1.PodSpec{}
		s.NodeSelector = labelledNode(kv...).Labels
		return s
	}

	both := required(byLabel(requirement{Key: "disk", Operator: in, Values: []string{"ssd"}}))
	both.NodeSelector = labelledNode("disk", "hdd").Labels
	for _, x := range []struct {
		what string
		spec *corev1.PodSpec
		want bool
	}{
		{"nothing", &corev1.PodSpec{}, true},
		{"an affinity to pods", &corev1.PodSpec{Affinity: &corev1.Affinity{}}, true},
		{"a preference", &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}, true},
		{"node selector", selector("disk", "ssd"), true},
		{"node selector, other value", selector("disk", "hdd"), false},
		{"node selector, other key", selector("disk", "ssd", "x", ""), false},
		{"node selector and affinity", both, false},
		{"no terms", required(), false},
		{"an empty term", required(corev1.NodeSelectorTerm{}), false},
		{"an empty term among others", required(corev1.NodeSelectorTerm{},
			byLabel(requirement{Key: "disk", Operator: exists})), true},
		{"in", required(byLabel(requirement{Key: "disk", Operator: in, Values: []string{"hdd", "ssd"}})), true},
		{"in others", required(byLabel(requirement{Key: "disk", Operator: in, Values: []string{"hdd"}})), false},
		{"in, no label", required(byLabel(requirement{Key: "x", Operator: in, Values: []string{""}})), false},
		{"in nothing", required(byLabel(requirement{Key: "disk", Operator: in})), false},
		{"not in", required(byLabel(requirement{Key: "disk", Operator: notIn, Values: []string{"ssd"}})), false},
		{"not in others", required(byLabel(requirement{Key: "disk", Operator: notIn, Values: []string{"hdd"}})), true},
		{"not in, no label", required(byLabel(requirement{Key: "x", Operator: notIn, Values: []string{"hdd"}})), true},
		{"exists", required(byLabel(requirement{Key: "disk", Operator: exists})), true},
		{"exists, with a value", required(byLabel(requirement{Key: "disk", Operator: exists, Values: []string{"ssd"}})),
			false},
		{"does not exist", required(byLabel(requirement{Key: "disk", Operator: not})), false},
		{"does not exist, no label", required(byLabel(requirement{Key: "x", Operator: not})), true},
		{"greater", required(byLabel(requirement{Key: "cores", Operator: gt, Values: []string{"11"}})), true},
		{"not greater", required(byLabel(requirement{Key: "cores", Operator: gt, Values: []string{"12"}})), false},
		{"less", required(byLabel(requirement{Key: "cores", Operator: lt, Values: []string{"13"}})), true},
		{"not less", required(byLabel(requirement{Key: "cores", Operator: lt, Values: []string{"12"}})), false},
		{"greater, no number", required(byLabel(requirement{Key: "disk", Operator: gt, Values: []string{"1"}})), false},
		{"greater, no label", required(byLabel(requirement{Key: "x", Operator: lt, Values: []string{"1"}})), false},
		{"greater than two", required(byLabel(requirement{Key: "cores", Operator: gt, Values: []string{"1", "2"}})), false},
		{"less than a negative number, which is no label's value",
			required(byLabel(requirement{Key: "low", Operator: gt, Values: []string{"-9"}})), false},
		{"unknown operator", required(byLabel(requirement{Key: "disk", Operator: "Near", Values: []string{"ssd"}})), false},
		{"all of a term", required(byLabel(requirement{Key: "disk", Operator: exists},
			requirement{Key: "x", Operator: exists})), false},
		{"one of the terms", required(byLabel(requirement{Key: "x", Operator: exists}),
			byLabel(requirement{Key: "disk", Operator: exists})), true},
		{"a malformed value beside the right one", required(byLabel(requirement{Key: "disk", Operator: in,
			Values: []string{"ssd", "a b"}})), false},
		{"a malformed term beside a good one", required(byLabel(requirement{Key: "disk", Operator: "Near"}),
			byLabel(requirement{Key: "disk", Operator: exists})), true},
		{"name", required(byField(requirement{Key: "metadata.name", Operator: in, Values: []string{"n1"}})), true},
		{"other name", required(byField(requirement{Key: "metadata.name", Operator: in, Values: []string{"n2"}})), false},
		{"not a name", required(byField(requirement{Key: "metadata.name", Operator: notIn, Values: []string{"n2"}})), true},
		{"two names", required(byField(requirement{Key: "metadata.name", Operator: in, Values: []string{"n1", "n2"}})),
			false},
		{"a name exists", required(byField(requirement{Key: "metadata.name", Operator: exists})), false},
		{"name and label", required(corev1.NodeSelectorTerm{MatchExpressions: []requirement{{Key: "x", Operator: exists}},
			MatchFields: []requirement{{Key: "metadata.name", Operator: in, Values: []string{"n1"}}}}), false},
	} {
		if got := Attracted(x.spec, n); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}

// Tolerations mean what k8s.io/api says, whether or not they compare numbers.
func TestTolerates(t *testing.T) {
	values := []string{"", "a", "0", "1", "2", "10", "-1", "-2", "-0", "+1", "01", "1.5", " 1", "1x",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"}
	var all []corev1.Toleration
	for _, op := range []corev1.TolerationOperator{"", "Equal", "Exists", "Gt", "Lt", "Near"} {
		for _, effect := range []corev1.TaintEffect{"", "NoSchedule", "NoExecute"} {
			for _, key := range []string{"", "a", "b"} {
				for _, value := range values {
					all = append(all, corev1.Toleration{Key: key, Value: value, Operator: op, Effect: effect})
				}
			}
		}
	}

	compared := 0 // how many tolerate because numbers are compared
	for i := range all {
		for _, key := range []string{"a", "b"} {
			for _, value := range values {
				off, on := toleratesAsUpstream(t, &all[i], key, value, false), toleratesAsUpstream(t, &all[i], key, value, true)
				if off != on {
					compared++
				}
			}
		}
	}
	if len(all) != 6*3*3*len(values) || compared < 100 {
		t.Errorf("%d tolerations, of which %d compare numbers", len(all), compared)
	}
}

// toleratesAsUpstream reports whether the toleration tolerates a taint, and fails the test where upstream says
// otherwise.
func toleratesAsUpstream(t *testing.T, x *corev1.Toleration, key, value string, comparisons bool) bool {
	t.Helper()
	theirs := k8scorev1.Toleration{
		Key: x.Key, Value: x.Value,
		Operator: k8scorev1.TolerationOperator(x.Operator), Effect: k8scorev1.TaintEffect(x.Effect),
	}
	taint := k8scorev1.Taint{Key: key, Value: value, Effect: k8scorev1.TaintEffectNoExecute}
	want := theirs.ToleratesTaint(klog.Logger{}, &taint, comparisons)

	taints := []corev1.Taint{
		{Key: "p", Effect: corev1.TaintEffectPreferNoSchedule},
		{Key: key, Value: value, Effect: corev1.TaintEffectNoExecute},
	}
	got := !Untolerated(taints, []corev1.Toleration{*x}, corev1.TaintEffectNoExecute, comparisons)
	if got != want {
		t.Errorf("%+v tolerates %s=%s: %v, want %v; comparisons: %v", theirs, key, value, got, want, comparisons)
	}
	if Untolerated(taints, nil, corev1.TaintEffectNoSchedule, comparisons) {
		t.Error("a taint counts for another effect")
	}
	return got
}
