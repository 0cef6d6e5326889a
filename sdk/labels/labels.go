// Package labels matches labels with selectors.
package labels

import (
	"github.com/windlass-dev/windlass/abi/wire"
	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
)

// Selects reports whether the selector takes in the labels: an empty one takes in all, a nil one nothing.
// What [Check] refuses takes in nothing.
func Selects(s *metav1.LabelSelector, labels wire.StringMap) bool {
	if s == nil || !Subset(s.MatchLabels, labels) {
		return false
	}
	for i := range s.MatchExpressions {
		if !requirementHolds(&s.MatchExpressions[i], labels) {
			return false
		}
	}
	return true
}

// Subset reports whether all of want is in have.
func Subset(want, have wire.StringMap) bool { return wire.HoldsAll(have, want) }

func requirementHolds(x *metav1.LabelSelectorRequirement, labels wire.StringMap) bool {
	v, ok := labels.Lookup(x.Key)
	switch x.Operator {
	case metav1.LabelSelectorOpIn:
		return ok && contains(x.Values, v)
	case metav1.LabelSelectorOpNotIn:
		return !ok || !contains(x.Values, v)
	case metav1.LabelSelectorOpExists:
		return ok
	case metav1.LabelSelectorOpDoesNotExist:
		return !ok
	}
	return false
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}
