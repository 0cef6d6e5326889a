package sandbox

import (
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
)

// linearMemory is an instance's memory, mapped outside the Go heap at its limit: untouched pages cost nothing, it never
// moves, and freeing it gives it back at once.
type linearMemory struct{ bytes []byte }

// allocator hands the mapped memory to wazero.
func (l *linearMemory) allocator() experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return l })
}

// Reallocate returns the memory in the one size that it has.
func (l *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(l.bytes)) {
		return nil
	}
	return l.bytes[:size:size]
}

// alignUp returns the first offset from at on whose address is a multiple of grain.
func (l *linearMemory) alignUp(at, grain int) int {
	start := int(uintptr(unsafe.Pointer(unsafe.SliceData(l.bytes))))
	return (start+at+grain-1)/grain*grain - start
}
