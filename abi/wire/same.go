//go:build !tinygo

package wire

// Same is a == b.
func Same(a, b string) bool { return a == b }
