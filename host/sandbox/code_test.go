package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/host/sandbox/rewrite"
)

// TestCode: a module runs on the code that Compile left of it or the child, and on code of its own where that doesn't
// fit; no folder stays behind.
func TestCode(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := filepath.Join(os.TempDir(), folderPrefix+"1") // of a process that was killed
	if err := os.MkdirAll(filepath.Join(old, "wazero"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*folderAge)); err != nil {
		t.Fatal(err)
	}

	sweepFolders()
	folder := t.TempDir()
	module := guestModule(t, guests[0])
	if err := Compile(t.Context(), module, DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}

	other, err := rewrite.WithShortNames(module, "main.")
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name    string
		module  []byte
		options Options
		want    bool
	}{
		{"fits", module, Options{Code: os.DirFS(folder)}, true},
		{"of another limit", module, Options{Code: os.DirFS(folder), MemoryLimit: 32 << 20}, false},
		{"of another module", other, Options{Code: os.DirFS(folder)}, false},
		{"from the child", module, Options{Untrusted: true}, true},
		{"none", module, Options{}, false},
		{"interpreted", module, Options{Code: os.DirFS(folder), Interpreter: true}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Name, test.options.Helpers = "guest", helpers
			m, err := Load(t.Context(), test.module, test.options)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close(context.WithoutCancel(t.Context()))
			if m.Precompiled() != test.want {
				t.Errorf("precompiled: %v", m.Precompiled())
			}
			if got, _, err := syncOnce(m, []byte("s")); err != nil || got[0] != 1 {
				t.Errorf("%q, %v", got, err)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestNoFolderForCode: where no file can be made what is built in runs all the same, and what isn't says why it
// doesn't.
func TestNoFolderForCode(t *testing.T) {
	folder, module := t.TempDir(), guestModule(t, guests[0])
	if err := Compile(t.Context(), module, DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(folder, "nowhere"))

	runCompiled(t, module, folder)

	_, err := Load(t.Context(), module, Options{Name: "guest", Helpers: helpers, Untrusted: true})
	if err == nil || !strings.Contains(err.Error(), "folder for native code") {
		t.Error(err)
	}
}

// TestRewritten: where native code doesn't fit, the rewritten module comes from the build if it is of this very module
// and limit, and is made anew otherwise.
func TestRewritten(t *testing.T) {
	folder, module := t.TempDir(), guestModule(t, guests[0])
	compileUnfit(t, module, folder)

	files, err := filepath.Glob(filepath.Join(folder, "rewritten-*.wasm"))
	if err != nil || len(files) != 1 {
		t.Fatalf("left: %v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("no module"), 0o600); err != nil { // so that its use shows
		t.Fatal(err)
	}

	other, err := rewrite.WithShortNames(module, "main.")
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name   string
		module []byte
		limit  int64
		used   bool
	}{
		{"the module", module, DefaultMemoryLimit, true},
		{"another limit", module, 32 << 20, false},
		{"another module", other, DefaultMemoryLimit, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := Load(t.Context(), test.module,
				Options{Name: "guest", Helpers: helpers, Code: os.DirFS(folder), MemoryLimit: test.limit})
			if used := err != nil; used != test.used {
				t.Errorf("used: %v, %v", used, err)
			}
			if err == nil {
				_ = m.Close(context.WithoutCancel(t.Context()))
			}
		})
	}
}

// compileUnfit compiles a module, and leaves its native code as another version of wazero names it.
func compileUnfit(t *testing.T, module []byte, folder string) {
	t.Helper()
	if err := Compile(t.Context(), module, DefaultMemoryLimit, folder); err != nil {
		t.Fatal(err)
	}
	files, err := nativeFiles(folder)
	if err != nil || len(files) != 1 {
		t.Fatalf("native code: %v, %v", files, err)
	}
	if err := os.Rename(files[0], files[0]+"0"); err != nil {
		t.Fatal(err)
	}
}

// runCompiled loads a guest whose native code doesn't fit: it is compiled and runs all the same.
func runCompiled(t *testing.T, module []byte, folder string) {
	t.Helper()
	m, err := Load(t.Context(), module, Options{Name: "guest", Helpers: helpers, Code: os.DirFS(folder)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	if got, _, err := syncOnce(m, []byte("s")); err != nil || got[0] != 1 || m.Precompiled() {
		t.Errorf("%q, %v, precompiled: %v", got, err, m.Precompiled())
	}
}

// TestHollow: where native code doesn't fit, nothing of the module without code runs that is there beside it.
func TestHollow(t *testing.T) {
	folder, module := t.TempDir(), guestModule(t, guests[0])
	compileUnfit(t, module, folder)
	runCompiled(t, module, folder)
}
