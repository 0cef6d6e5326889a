package build

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// target is the target that all plugins are built for. hack/toolchain.sh has it too.
//
//go:embed target.json
var target []byte

// The oldest TinyGo that will do.
const (
	tinygoMajor = 0
	tinygoMinor = 41
)

// tinygo is a compiler that was found.
type tinygo struct {
	path, version string
	target        string // the file
}

var tinygoVersion = regexp.MustCompile(`^tinygo version ((\d+)\.(\d+)\S*)`)

// findTinyGo finds the compiler and writes the target for it into a folder.
func findTinyGo(ctx context.Context, path, folder string) (*tinygo, error) {
	found, err := exec.LookPath(cmp.Or(path, os.Getenv("TINYGO"), "tinygo"))
	if err != nil {
		return nil, fmt.Errorf("no TinyGo: %w: install %d.%d or newer (https://tinygo.org/getting-started/install), name it with --tinygo or $TINYGO, or build with --compiler=go", err, tinygoMajor, tinygoMinor)
	}

	if found, err = filepath.Abs(found); err != nil { // it is run in the plugin's folder
		return nil, err
	}
	said, err := exec.CommandContext(ctx, found, "version").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s version: %w: %s", found, err, strings.TrimSpace(string(said)))
	}

	m := tinygoVersion.FindStringSubmatch(string(said))
	if m == nil {
		return nil, fmt.Errorf("%s version says %q: name a TinyGo with --tinygo", found, strings.TrimSpace(string(said)))
	}

	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	if major < tinygoMajor || major == tinygoMajor && minor < tinygoMinor {
		return nil, fmt.Errorf("%s is TinyGo %s: plugins need %d.%d or newer", found, m[1], tinygoMajor, tinygoMinor)
	}

	t := &tinygo{path: found, version: m[1], target: filepath.Join(folder, "target.json")}
	description, err := t.describe(ctx)
	if err != nil {
		return nil, err
	}
	return t, os.WriteFile(t.target, description, 0o644)
}

// describe returns the target for this TinyGo. A release brings the sources of the libraries that a module links; one
// that was built from its Go module doesn't, and takes Debian's.
func (t *tinygo) describe(ctx context.Context) ([]byte, error) {
	out, err := exec.CommandContext(ctx, t.path, "env", "TINYGOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("%s env TINYGOROOT: %w", t.path, err)
	}

	root := strings.TrimSpace(string(out))
	if entries, err := os.ReadDir(filepath.Join(root, "lib", "compiler-rt-builtins")); err == nil && len(entries) > 0 {
		return target, nil
	}

	var libraries []string
	for _, pattern := range []string{"/usr/lib/wasm32-wasi/libc.a",
		"/usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a"} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no libraries in %s/lib, and there is no %s: install a release of TinyGo, or Debian's packages wasi-libc and libclang-rt-19-dev-wasm32", t.path, root, pattern)
		}
		slices.Sort(files)
		libraries = append(libraries, files[len(files)-1])
	}

	var description map[string]any
	if err := json.Unmarshal(target, &description); err != nil {
		return nil, err
	}

	flags, ok := description["ldflags"].([]any)
	if !ok {
		return nil, errors.New("target.json has no ldflags")
	}

	for _, l := range libraries {
		flags = append(flags, l)
	}
	description["ldflags"], description["libc"], description["rtlib"] = flags, "", ""
	return json.Marshal(description)
}

func (t *tinygo) nameAndVersion() string { return "TinyGo " + t.version }

// command builds the module for size, and without what a panic says, which TinyGo's runtime for such modules prints
// nowhere. With optimization its line tables name wrong lines, and without it doesn't build: the debug form is std
// Go's.
func (t *tinygo) command(ctx context.Context, source, out, version string, _ bool) *exec.Cmd {
	return exec.CommandContext(ctx, t.path, "build", "-target="+t.target, "-o", out,
		"-ldflags=-X="+versionVariable+"="+version, "-opt=z", "-panic=trap", "-no-debug", source)
}
