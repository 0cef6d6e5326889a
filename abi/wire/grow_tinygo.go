//go:build tinygo

package wire

import "unsafe"

// Grow is what Type.New of T is: room for size values, the first n of which are copied from old.
//
// TinyGo makes a function of it for each T, so that it has to be small: as Go's is, they would be 20 KB of a module
// with pods and replica sets.
func Grow[T any](old unsafe.Pointer, n, size int) unsafe.Pointer {
	var z T
	return grow(old, n, size, unsafe.Sizeof(z))
}

// grow takes memory that a collector would look for pointers in, whatever is put there.
//
//go:noinline
func grow(old unsafe.Pointer, n, size int, each uintptr) unsafe.Pointer {
	const word = unsafe.Sizeof(uintptr(0))
	p := unsafe.Pointer(unsafe.SliceData(make([]unsafe.Pointer, (uintptr(size)*each+word-1)/word)))
	copy(unsafe.Slice((*byte)(p), uintptr(n)*each), unsafe.Slice((*byte)(old), uintptr(n)*each))
	return p
}
