//go:build tinygo

package wire

import "unsafe"

// Same is a == b. It takes eight bytes at once, where TinyGo's own comparison takes one: of the time of a sync over a
// thousand pods that was a seventh.
func Same(a, b string) bool {
	n := len(a)
	if n != len(b) {
		return false
	}
	p, q := unsafe.Pointer(unsafe.StringData(a)), unsafe.Pointer(unsafe.StringData(b))
	if n < 8 {
		for i := range n {
			if *(*byte)(unsafe.Add(p, i)) != *(*byte)(unsafe.Add(q, i)) {
				return false
			}
		}
		return true
	}
	for i := 0; i < n-8; i += 8 {
		if *(*uint64)(unsafe.Add(p, i)) != *(*uint64)(unsafe.Add(q, i)) { // WebAssembly reads at any address
			return false
		}
	}
	return *(*uint64)(unsafe.Add(p, n-8)) == *(*uint64)(unsafe.Add(q, n-8))
}
