package v1

import "testing"

func TestFinalizers(t *testing.T) {
	m := &ObjectMeta{}
	if !m.AddFinalizer("a") || m.AddFinalizer("a") || !m.AddFinalizer("b") || !m.HasFinalizer("b") {
		t.Errorf("after adding a, a, b: %v", m.Finalizers)
	}
	if !m.RemoveFinalizer("a") || m.RemoveFinalizer("a") || len(m.Finalizers) != 1 || m.HasFinalizer("a") {
		t.Errorf("after removing a: %v", m.Finalizers)
	}
}

func TestControllerRef(t *testing.T) {
	owner := &ObjectMeta{Name: "web", UID: "1"}
	m := &ObjectMeta{OwnerReferences: []OwnerReference{{Name: "other", UID: "2"}}}
	if GetControllerOf(m) != nil || IsControlledBy(m, owner) {
		t.Error("an owner that is no controller counts as one")
	}
	m.OwnerReferences = append(m.OwnerReferences, NewControllerRef(owner, "apps/v1", "ReplicaSet"))
	if r := GetControllerOf(m); r == nil || r.Name != "web" || !*r.BlockOwnerDeletion || !IsControlledBy(m, owner) ||
		IsControlledBy(m, &ObjectMeta{UID: "2"}) {
		t.Errorf("controller: %+v", r)
	}
	now := Unix(1, 0)
	if m.Deleting() {
		t.Error("deleting without a deletion timestamp")
	}
	if m.DeletionTimestamp = &now; !m.Deleting() {
		t.Error("not deleting in spite of a deletion timestamp")
	}
}
