package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

func mapMemory(size int) (*linearMemory, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes of guest memory: %w", size, err)
	}
	return &linearMemory{b}, nil
}

// drop returns pages back to the system; they read as zero from now on. The slice must begin and end at page
// boundaries.
func drop(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return unix.Madvise(b, unix.MADV_DONTNEED)
}

// Free unmaps the memory. wazero calls it when the instance is closed.
func (l *linearMemory) Free() {
	if l.bytes != nil {
		_ = unix.Munmap(l.bytes)
		l.bytes = nil
	}
}

// present reports whether any page of the memory, which begins at a page's boundary, has been touched since it was
// mapped or dropped.
func present(b []byte) bool {
	var pages [4096]byte // of 4 KiB each: 16 MiB at once
	for len(b) > 0 {
		part := b[:min(len(b), len(pages)<<12)]
		b = b[len(part):]
		_, _, failed := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)),
			uintptr(unsafe.Pointer(&pages)))
		if failed != 0 {
			return false
		}
		for _, p := range pages[:(len(part)+4095)>>12] {
			if p&1 != 0 {
				return true
			}
		}
	}
	return false
}
