//go:build !race

package worlds

// Raced reports whether the race detector looks on.
const Raced = false
