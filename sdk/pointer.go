package sdk

// Deref returns what p points to, or otherwise where p is nil: an optional field with its default.
func Deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
