//go:build !tinygo

package wire

import "unsafe"

// Grow is what Type.New of T is: room for size values, the first n of which are copied from old.
func Grow[T any](old unsafe.Pointer, n, size int) unsafe.Pointer {
	s := make([]T, size)
	if n > 0 {
		copy(s, unsafe.Slice((*T)(old), n))
	}
	return unsafe.Pointer(unsafe.SliceData(s))
}
