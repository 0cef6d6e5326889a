package conditions_test

import (
	"fmt"
	"testing"

	metav1 "github.com/windlass-dev/windlass/sdk/api/meta/v1"
	"github.com/windlass-dev/windlass/sdk/conditions"
)

func Example() {
	var list []metav1.Condition
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Starting", ObservedGeneration: 1}
	fmt.Println(conditions.Set(&list, ready, metav1.Unix(100, 0)), conditions.Set(&list, ready, metav1.Unix(200, 0)))
	ready.Status, ready.Reason = metav1.ConditionTrue, "Started"
	conditions.Set(&list, ready, metav1.Unix(300, 0))
	ready.Message = "3 of 3"
	conditions.Set(&list, ready, metav1.Unix(400, 0))
	fmt.Println(len(list), conditions.IsTrue(list, "Ready"), list[0].LastTransitionTime.Unix(), list[0].Message)
	// Output:
	// true false
	// 1 true 300 3 of 3
}

func TestConditions(t *testing.T) {
	list := []metav1.Condition{
		{Type: "A", Status: metav1.ConditionTrue, LastTransitionTime: metav1.Unix(1, 0)},
		{Type: "B", Status: metav1.ConditionFalse, XUnknown: "\x00\"severity\":\"Info\""},
	}
	shared := list
	if conditions.IsTrue(list, "B") || !conditions.IsFalse(list, "B") || conditions.IsFalse(list, "C") ||
		conditions.Find(list, "C") != nil {
		t.Errorf("status read wrongly: %v", list)
	}
	if !conditions.Set(&list, metav1.Condition{Type: "B", Status: metav1.ConditionFalse, Reason: "Why"},
		metav1.Unix(9, 0)) || list[1].XUnknown == "" {
		t.Errorf("what a newer API server added to a condition is gone: %v", list[1])
	}
	if !conditions.Set(&list, metav1.Condition{Type: "C", Status: metav1.ConditionTrue}, metav1.Unix(9, 5)) ||
		len(list) != 3 || list[2].LastTransitionTime != metav1.Unix(9, 0) {
		t.Errorf("a new condition: %v", list)
	}
	if !conditions.Remove(&list, "A") || conditions.Remove(&list, "A") || len(list) != 2 || list[0].Type != "B" {
		t.Errorf("after removing A: %v", list)
	}
	if shared[0].Type != "A" {
		t.Error("removing changed the list that others share")
	}
}
