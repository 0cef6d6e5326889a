//go:build !linux

package begin

// lateWakeUps does nothing: what it is about is Linux's alone.
func lateWakeUps() {}
