package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	asm "github.com/windlass-dev/windlass/host/sandbox/internal/assemble"
)

// A module of a stranger that rests holds next to nothing of the process's memory: its code is in a file, and of the
// module only what is declared in it is decoded.
func TestRestingHoldsLittle(t *testing.T) {
	wasm := guestModule(t, guests[0])
	load := func() *Module {
		m, err := Load(t.Context(), wasm, Options{Name: "guest", Helpers: helpers, Untrusted: true, Rest: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close(context.Background()) })
		m.options.Rest = time.Nanosecond
		for m.rest(); !resting(t, m); m.rest() {
		}
		return m
	}
	load() // what is made once

	const n = 2
	before := heap()
	for range n {
		load()
	}
	if each := (heap() - before) / n; each > 20<<10 {
		t.Errorf("each holds %d bytes of the heap", each)
	}
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	for range 2 { // what the first has found to be finalized
		runtime.GC()
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// The file of what is kept has no name, gives back what is let go of, and begins anew when nothing is left in it.
func TestUnnamedFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	u := &unnamedFile{}
	keep := func(text string) *keptCode {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		f, err := w.Create("code")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		k, err := u.keep(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return k
	}

	first, second := keep("one"), keep("two")
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the file has a name: %v, %v", left, err)
	}
	first.release()
	first.release() // once is enough
	third := keep("three")
	for text, k := range map[string]*keptCode{"two": second, "three": third} {
		if got, err := fs.ReadFile(k, "code"); err != nil || string(got) != text {
			t.Errorf("kept is %q, %v, want %q", got, err, text)
		}
	}
	second.release()
	third.release()
	if i, err := u.file.Stat(); err != nil || i.Size() != 0 {
		t.Errorf("when nothing is kept the file has %d bytes, %v", i.Size(), err)
	}
	if got, err := fs.ReadFile(keep("four"), "code"); err != nil || string(got) != "four" {
		t.Errorf("kept is %q, %v", got, err)
	}
}

// A module that can't be started keeps nothing, however often it is tried.
func TestFailedLoadKeepsNothing(t *testing.T) {
	wasm := pluginModule(func(m *asm.Module) { m.Func("_initialize", "", "", "", 0) }) // unreachable
	before := keptFile.kept
	for range 2 {
		if _, err := Load(t.Context(), wasm, Options{Name: "guest", Untrusted: true, Rest: time.Hour}); err == nil ||
			!strings.Contains(err.Error(), "unreachable") {
			t.Fatalf("loaded: %v", err)
		}
	}
	if keptFile.kept != before {
		t.Errorf("the file keeps %d regions, %d before", keptFile.kept, before)
	}
}

// Where no file can be made, what is kept is in memory.
func TestKeptInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create("code"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	k, err := (&unnamedFile{}).keep(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(k, "code"); err != nil {
		t.Error(err)
	}
	k.release()
}
