// Package conditions keeps lists of metav1.Condition, such as status.conditions, in which each type is at most once.
package conditions

import metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"

// Find returns the condition of a type in its place in the list, nil where there is none.
func Find(list []metav1.Condition, conditionType string) *metav1.Condition {
	for i := range list {
		if list[i].Type == conditionType {
			return &list[i]
		}
	}
	return nil
}

// IsTrue reports whether there is the condition and its status is True.
func IsTrue(list []metav1.Condition, conditionType string) bool {
	return hasStatus(list, conditionType, metav1.ConditionTrue)
}

// IsFalse reports whether there is the condition and its status is False.
func IsFalse(list []metav1.Condition, conditionType string) bool {
	return hasStatus(list, conditionType, metav1.ConditionFalse)
}

func hasStatus(list []metav1.Condition, conditionType string, s metav1.ConditionStatus) bool {
	c := Find(list, conditionType)
	return c != nil && c.Status == s
}

// Set puts a condition into the list, in the place of the one of its type if there is one, and tells whether that
// changed anything. The last transition is now where the status is another one than before; else it stays, whatever c
// says. The API server refuses conditions without a reason.
func Set(list *[]metav1.Condition, c metav1.Condition, now metav1.Time) bool {
	c.LastTransitionTime = now.Truncate()
	old := Find(*list, c.Type)
	if old == nil {
		*list = append(*list, c)
		return true
	}
	if old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.XUnknown = old.XUnknown
	if *old == c {
		return false
	}
	*old = c
	return true
}

// Remove takes the condition of a type out of the list, and reports whether it was there.
func Remove(list *[]metav1.Condition, conditionType string) bool {
	for i := range *list {
		if (*list)[i].Type == conditionType {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}
