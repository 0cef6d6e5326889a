package scratch

import (
	"os"

	"golang.org/x/sys/unix"
)

// punch gives a file's region back to its file system, as far as that can.
func punch(f *os.File, at, size int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, size)
}
