package scratch

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// The file has no name, gives back what is let go of, and begins anew when nothing is left in it.
func TestUnnamedFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	u := &unnamedFile{}
	check := func(k *Kept, want string) {
		t.Helper()
		if got, err := k.Bytes(); err != nil || string(got) != want || k.Size() != len(want) {
			t.Errorf("kept is %q, %v, want %q", got, err, want)
		}
	}

	first, second := u.keep([]byte("one")), u.keep([]byte("two"))
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the file has a name: %v, %v", left, err)
	}
	first.Release()
	first.Release() // once is enough
	third := u.keep([]byte("three"))
	check(second, "two")
	check(third, "three")

	second.Release()
	third.Release()
	if i, err := u.file.Stat(); err != nil || i.Size() != 0 {
		t.Errorf("when nothing is kept the file has %d bytes, %v", i.Size(), err)
	}
	check(u.keep([]byte("four")), "four")
}

// What nobody has any more is given back by itself.
func TestForgotten(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	u := &unnamedFile{}
	held := u.keep([]byte("held"))
	u.keep([]byte("forgotten"))
	count := func() int {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.regions
	}
	for end := time.Now().Add(time.Minute); count() != 1; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("%d regions are in use, want that of what is held", count())
		}
	}
	if got, err := held.Bytes(); err != nil || string(got) != "held" {
		t.Errorf("kept is %q, %v", got, err)
	}
}

// Where no file can be made, what is kept is in memory.
func TestInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	b := []byte("one")
	k := (&unnamedFile{}).keep(b)
	b[0] = 'x'
	if got, err := k.Bytes(); err != nil || string(got) != "one" {
		t.Errorf("kept is %q, %v", got, err)
	}
	k.Release()
}

// Where there is room for a part alone, that is given back, and what is to be kept is in memory.
func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() { signal.Reset(syscall.SIGXFSZ) })
	u := &unnamedFile{}
	small := u.keep([]byte("small"))
	limit := syscall.Rlimit{Cur: 4 * align, Max: was.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("large"), 2*align)
	kept := u.keep(large)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}

	if i, err := u.file.Stat(); err != nil || i.Size() > align {
		t.Errorf("the file has %d bytes, %v", i.Size(), err)
	}
	if got, err := kept.Bytes(); err != nil || !bytes.Equal(got, large) {
		t.Errorf("what had no room: %d bytes, %v", len(got), err)
	}
	if got, err := small.Bytes(); err != nil || string(got) != "small" {
		t.Errorf("what had: %q, %v", got, err)
	}
	if got, err := u.keep(nil).Bytes(); err != nil || len(got) > 0 {
		t.Errorf("nothing: %q, %v", got, err)
	}
}
