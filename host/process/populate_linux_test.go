package process

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Pages that were populated are there when they are touched, others come one by one.
func TestPopulate(t *testing.T) {
	const size = 8 << 20
	pages := size / os.Getpagesize()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	faults := func(prepare func([]byte) error) int {
		memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(memory)
		if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil {
			t.Fatal(err)
		}
		if err := prepare(memory); err != nil {
			t.Fatal(err)
		}
		var before, after unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &before); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < size; i += os.Getpagesize() {
			memory[i] = 1
		}
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &after); err != nil {
			t.Fatal(err)
		}
		return int(after.Minflt - before.Minflt)
	}
	if got := faults(func([]byte) error { return nil }); got < pages/2 {
		t.Errorf("memory that nobody populated: %d faults for %d pages", got, pages)
	}
	if got := faults(populate); got > pages/10 {
		t.Errorf("populated memory: %d faults for %d pages", got, pages)
	}
}
