package sandbox

import (
	"fmt"

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
