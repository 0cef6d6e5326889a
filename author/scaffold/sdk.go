package scaffold

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	windlass "github.com/windlass-dev/windlass"
)

const (
	// SDKFolder is where a plugin's folder has the SDK's source. The go command looks at no folder that begins with a dot
	// unless it is told to.
	SDKFolder = ".windlass"
	// SDKModule is the Go module of the SDK.
	SDKModule = "github.com/windlass-dev/windlass"
)

var goLine = regexp.MustCompile(`(?m)^go (\S+)$`)

// goVersion is the version of Go that the SDK asks for.
func goVersion() string {
	b, err := windlass.SDK.ReadFile("go.mod")
	if err != nil {
		panic(err) // it is embedded
	}
	return goLine.FindStringSubmatch(string(b))[1]
}

// WriteSDK writes the SDK's source into a plugin's folder, in place of what is in its SDKFolder: a Go module that
// requires no other. version is told in its go.mod.
func WriteSDK(folder, version string) error {
	to := filepath.Join(folder, SDKFolder)
	if err := checkReplaceable(to); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	err := fs.WalkDir(windlass.SDK, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == "go.mod" || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(name, "/testdata/") {
			return err
		}
		b, err := windlass.SDK.ReadFile(name)
		if err != nil {
			return err
		}
		return writeFile(to, path.Clean(name), b)
	})
	if err != nil {
		return err
	}
	mod := fmt.Sprintf("// The SDK as windlass %s has it. \"windlass plugin sdk\" writes this folder anew: change nothing here.\nmodule %s\n\ngo %s\n", version, SDKModule, goVersion())
	return writeFile(to, "go.mod", []byte(mod))
}

// checkReplaceable refuses to replace a folder that is something else.
func checkReplaceable(folder string) error {
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !strings.Contains(string(mod), "\nmodule "+SDKModule+"\n") {
		return fmt.Errorf("%s: would be replaced by the SDK's source, but is something else: move it away", folder)
	}
	return nil
}

func writeFile(folder, name string, content []byte) error {
	to := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
