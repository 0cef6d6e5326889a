package plugins

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that hasn't changed isn't read again; one that has is, whatever its time and size say.
func TestWatched(t *testing.T) {
	w := NewWatched(t.TempDir())
	path := filepath.Join(string(w.Folder), "greet.wasm")
	look := func(want string) *Plugin {
		t.Helper()
		all, errs := w.Modules()
		if len(errs) > 0 || len(all) != 1 || all[0].File != "greet.wasm" {
			t.Fatalf("modules %+v, %v; want one", all, errs)
		}
		if wasm, err := all[0].Wasm(); err != nil || string(wasm) != want {
			t.Fatalf("it holds %q, %v; want %s", wasm, err, want)
		}
		return all[0]
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	look("one")
	write("two") // at once: it may have the same time
	look("two")

	for { // a change that has just been made isn't relied upon
		is, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(changedAt(is)) > young {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	first := look("two")
	if again := look("two"); again != first {
		t.Error("a file that hasn't changed was read again")
	}

	is, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write("six")
	if err := os.Chtimes(path, is.ModTime(), is.ModTime()); err != nil {
		t.Fatal(err)
	}
	look("six")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if all, errs := w.Modules(); len(all)+len(errs) > 0 {
		t.Errorf("the file is gone: %v, %v", all, errs)
	}
}
