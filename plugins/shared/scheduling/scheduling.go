// Package scheduling tells on which nodes a pod may run (k8s.io/component-helpers/scheduling).
package scheduling

import (
	"strconv"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/labels"
)

// Attracted reports whether the node is one that the pod's node selector and required node affinity ask for.
func Attracted(spec *corev1.PodSpec, n *Node) bool {
	if !labels.Subset(spec.NodeSelector, n.Labels) {
		return false
	}
	required := Required(spec)
	if required == nil {
		return true
	}
	for i := range required.NodeSelectorTerms {
		if t := &required.NodeSelectorTerms[i]; len(t.MatchExpressions)+len(t.MatchFields) > 0 && termHolds(t, n) {
			return true
		}
	}
	return false
}

// Required is the pod's required node affinity, nil where it has none.
func Required(spec *corev1.PodSpec) *corev1.NodeSelector {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// termHolds reports whether all of the term holds; a term with something malformed in it doesn't, whatever else it
// says.
func termHolds(t *corev1.NodeSelectorTerm, n *Node) bool {
	ok := true
	for i := range t.MatchExpressions {
		x := &t.MatchExpressions[i]
		ok = ok && wellFormed(x) && expression(x, n.Labels)
	}
	for i := range t.MatchFields {
		x, value := &t.MatchFields[i], ""
		if x.Key == "metadata.name" {
			value = n.Name
		}
		switch {
		case len(x.Values) != 1:
			return false
		case x.Operator == corev1.NodeSelectorOpIn:
			ok = ok && value == x.Values[0]
		case x.Operator == corev1.NodeSelectorOpNotIn:
			ok = ok && value != x.Values[0]
		default:
			return false
		}
	}
	return ok
}

// wellFormed reports what labels.NewRequirement accepts. Keys are checked by the API server, values are not.
func wellFormed(x *corev1.NodeSelectorRequirement) bool {
	switch x.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(x.Values) == 0 {
			return false
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		return len(x.Values) == 0
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(x.Values) != 1 {
			return false
		}
		if _, ok := decimal.Parse(x.Values[0]); !ok {
			return false
		}
	default:
		return false
	}
	for _, v := range x.Values {
		if !labels.ValidValue(v) {
			return false
		}
	}
	return true
}

func expression(x *corev1.NodeSelectorRequirement, l wire.StringMap) bool {
	v, has := l.Lookup(x.Key)
	switch x.Operator {
	case corev1.NodeSelectorOpIn:
		return has && contains(x.Values, v)
	case corev1.NodeSelectorOpNotIn:
		return !has || !contains(x.Values, v)
	case corev1.NodeSelectorOpExists:
		return has
	case corev1.NodeSelectorOpDoesNotExist:
		return !has
	}
	n, ok := decimal.Parse(v)
	bound, _ := decimal.Parse(x.Values[0])
	if x.Operator == corev1.NodeSelectorOpGt {
		return has && ok && n > bound
	}
	return has && ok && n < bound
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

// Untolerated reports whether one of the taints with this effect is tolerated by none of the tolerations. The operators
// Gt and Lt compare numbers where comparisons is set (upstream's feature TaintTolerationComparisonOperators); else they
// tolerate nothing.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration, effect corev1.TaintEffect,
	comparisons bool) bool {
	for i := range taints {
		if t := &taints[i]; t.Effect == effect && FirstTolerating(t, tolerations, comparisons) == nil {
			return true
		}
	}
	return false
}

// FirstTolerating returns the first toleration that tolerates the taint, nil where none does; comparisons is as for
// [Untolerated].
func FirstTolerating(t *corev1.Taint, tolerations []corev1.Toleration, comparisons bool) *corev1.Toleration {
	for i := range tolerations {
		if tolerates(&tolerations[i], t, comparisons) {
			return &tolerations[i]
		}
	}
	return nil
}

func tolerates(x *corev1.Toleration, t *corev1.Taint, comparisons bool) bool {
	if x.Effect != "" && x.Effect != t.Effect || x.Key != "" && x.Key != t.Key {
		return false
	}
	switch x.Operator {
	case "", corev1.TolerationOpEqual:
		return x.Value == t.Value
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpGt, corev1.TolerationOpLt:
		return comparisons && compares(x.Operator, t.Value, x.Value)
	}
	return false
}

// compares reports whether the taint's value is greater or less than the bound; it is neither where one of them isn't a
// number as one writes it, without a plus sign or leading zeros.
func compares(operator corev1.TolerationOperator, value, bound string) bool {
	n, ok := canonical(value)
	m, also := canonical(bound)
	if !ok || !also {
		return false
	}

	if operator == corev1.TolerationOpGt {
		return n > m
	}
	return n < m
}

func canonical(s string) (n int64, ok bool) {
	n, ok = decimal.Parse(s)
	return n, ok && strconv.FormatInt(n, 10) == s
}
