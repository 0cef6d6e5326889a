// Package scratch keeps what is seldom needed out of the process's memory: in a file that has no name, which nobody
// else can open. So what is read back needn't be checked again, as what lies in a folder had to be, and it is gone with
// the process. What can't be written there is kept in memory.
package scratch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// Kept are bytes that were put aside. They are safe for concurrent use.
type Kept struct {
	io.ReaderAt
	size    int
	release func()
}

// Keep puts bytes aside, which the caller may change afterwards. They are there until Release, or until nobody has them
// any more.
func Keep(b []byte) *Kept { return shared.keep(b) }

// Size is how many bytes there are.
func (k *Kept) Size() int { return k.size }

// Bytes reads the bytes. Its error is that of a disk.
func (k *Kept) Bytes() ([]byte, error) {
	defer runtime.KeepAlive(k)
	b := make([]byte, k.size)
	if _, err := k.ReadAt(b, 0); err != nil && k.size > 0 {
		return nil, fmt.Errorf("reading what was put aside: %w", err)
	}
	return b, nil
}

// Release gives the bytes up: nobody may read them any more.
func (k *Kept) Release() { k.release() }

// Regions is how many regions of the file are in use: what tests count.
func Regions() int {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return shared.regions
}

// shared is this process's file.
var shared unnamedFile

type unnamedFile struct {
	mu      sync.Mutex
	file    *os.File // nil: nothing has been kept
	end     int64
	regions int
}

// align is the size of the units in which regions begin and are given back, in bytes.
const align = 4096

func (u *unnamedFile) keep(b []byte) *Kept {
	at, size, ok := u.write(b)
	if !ok {
		return &Kept{bytes.NewReader(bytes.Clone(b)), len(b), func() {}}
	}
	k := &Kept{io.NewSectionReader(u.file, at, int64(len(b))), len(b), sync.OnceFunc(func() { u.give(at, size) })}
	runtime.AddCleanup(k, func(release func()) { release() }, k.release)
	return k
}

// write writes a region, and reports whether it is there.
func (u *unnamedFile) write(b []byte) (at, size int64, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		f, err := os.CreateTemp("", "windlass-")
		if err != nil {
			return 0, 0, false
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return 0, 0, false
		}
		u.file = f
	}

	at, size = u.end, (int64(len(b))+align-1)/align*align
	if _, err := u.file.WriteAt(b, at); err != nil {
		_ = u.file.Truncate(u.end) // where there is no room, the half of it would take what is left
		return 0, 0, false
	}
	u.end += size
	u.regions++
	return at, size, true
}

// give gives a region back.
func (u *unnamedFile) give(at, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.regions--; u.regions == 0 {
		u.end = 0
		_ = u.file.Truncate(0)
		return
	}
	punch(u.file, at, size)
}
