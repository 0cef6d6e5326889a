//go:build !linux

package process

// KeepOutOfCores does nothing: what it is about is Linux's alone.
func KeepOutOfCores() error { return nil }
