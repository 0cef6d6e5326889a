package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// guests are the same program, testdata/guest, from several compilers.
var guests = []string{"tinygo arena", "tinygo precise", "go"}

var built sync.Map // guest name → func() ([]byte, error)

func guestModule(t testing.TB, name string) []byte {
	t.Helper()
	build, _ := built.LoadOrStore(name, sync.OnceValues(func() ([]byte, error) { return buildGuest(name) }))
	wasm, err := build.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func buildGuest(name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}

	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	var cmd *exec.Cmd
	if name == "go" {
		cmd = exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/guest")
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	} else {
		root, err := repository()
		if err != nil {
			return nil, err
		}
		toolchain := filepath.Join(root, "_output", "toolchain")
		if _, err := os.Stat(filepath.Join(toolchain, "tinygo")); err != nil {
			return nil, fmt.Errorf("no TinyGo: run make toolchain (%w)", err)
		}
		gc := map[string]string{"tinygo arena": "custom", "tinygo precise": "precise"}[name]
		cmd = exec.Command(filepath.Join(toolchain, "tinygo"), "build", "-target="+filepath.Join(toolchain, "target.json"),
			"-opt=2", "-no-debug", "-gc="+gc, "-o", out, "./testdata/guest")
	}

	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building guest %s: %w\n%s", name, err, text)
	}
	return os.ReadFile(out)
}

// repository is the folder of go.mod.
func repository() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(mod))), err
}

var helpers = map[string]Helper{"reverse": func(b []byte) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	if len(b) > 0 && b[0] == '*' {
		_ = b[len(b)] // as a helper with a mistake panics
	}
	return b
}}

func loadGuest(t testing.TB, name string, options Options) *Module {
	t.Helper()
	return loadModule(t, guestModule(t, name), options)
}

func loadModule(t testing.TB, wasm []byte, options Options) *Module {
	t.Helper()
	options.Name, options.Helpers = "guest", helpers
	m, err := Load(context.Background(), wasm, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// request is a sync with a message; its performs answer with the request, twice.
func request(message []byte) *Call {
	return &Call{
		Size:  len(message),
		Write: func(b []byte) { copy(b, message) },
		Perform: func(_ context.Context, request []byte) ([]byte, error) {
			return append(slices.Clone(request), request...), nil
		},
	}
}

func syncOnce(m *Module, message []byte) (answer []byte, stats Stats, err error) {
	stats, err = m.Sync(context.Background(), request(message), func(a []byte) error {
		answer = slices.Clone(a)
		return nil
	})
	return answer, stats, err
}
