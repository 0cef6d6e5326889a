package v1

// GetObjectMeta returns the metadata of the object that embeds it.
func (m *ObjectMeta) GetObjectMeta() *ObjectMeta { return m }

// Deleting reports whether the object waits for its finalizers to be removed.
func (m *ObjectMeta) Deleting() bool { return m.DeletionTimestamp != nil }

// HasFinalizer reports whether the object has the finalizer.
func (m *ObjectMeta) HasFinalizer(name string) bool {
	for _, f := range m.Finalizers {
		if f == name {
			return true
		}
	}
	return false
}

// AddFinalizer adds the finalizer, and reports whether it was missing.
func (m *ObjectMeta) AddFinalizer(name string) bool {
	if m.HasFinalizer(name) {
		return false
	}
	m.Finalizers = append(m.Finalizers, name)
	return true
}

// RemoveFinalizer removes the finalizer, and reports whether it was there.
func (m *ObjectMeta) RemoveFinalizer(name string) bool {
	var rest []string
	for _, f := range m.Finalizers {
		if f != name {
			rest = append(rest, f)
		}
	}
	removed := len(rest) < len(m.Finalizers)
	if removed {
		m.Finalizers = rest
	}
	return removed
}

// GetControllerOf returns the owner reference of the controller that manages the object, nil where there is none.
func GetControllerOf(m *ObjectMeta) *OwnerReference {
	for i := range m.OwnerReferences {
		if r := &m.OwnerReferences[i]; r.Controller != nil && *r.Controller {
			return r
		}
	}
	return nil
}

// IsControlledBy reports whether the owner is the object's controller.
func IsControlledBy(m, owner *ObjectMeta) bool {
	r := GetControllerOf(m)
	return r != nil && r.UID == owner.UID
}

// NewControllerRef makes the reference to a controller that holds up the deletion of its owner.
func NewControllerRef(owner *ObjectMeta, apiVersion, kind string) OwnerReference {
	yes, block := true, true
	return OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.Name, UID: owner.UID, Controller: &yes,
		BlockOwnerDeletion: &block}
}
