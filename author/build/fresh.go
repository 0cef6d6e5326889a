package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/host/plugins"
)

// Newer returns the first file of those that a plugin's module is made of, the SDK's among them, that is newer than the
// module; it is empty where none is.
func Newer(ctx context.Context, folder, module string) (string, error) {
	built, err := os.Stat(module)
	if err != nil {
		return "", err
	}
	files, err := sources(ctx, folder)
	if err != nil {
		return "", err
	}

	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		if info.ModTime().After(built.ModTime()) {
			if relative, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(relative) {
				return filepath.Join(folder, relative), nil
			}

			return file, nil
		}
	}

	return "", nil
}

// IsPlugin reports whether a folder has the source of a plugin in Go.
func IsPlugin(folder string) bool {
	_, err := mainPackage(folder)

	return err == nil
}

// sources are the files that the plugin in a folder is compiled of, those of Go's own library aside.
func sources(ctx context.Context, folder string) (files []string, err error) {
	main, err := mainPackage(folder)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Standard,GoFiles,EmbedFiles,Module", main)
	c.Dir = folder
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: go list can't find its source files: %w\n%s", folder, err,
			strings.TrimSpace(said.String()))
	}

	modules := map[string]bool{}
	for packages := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir                 string
			Standard            bool
			GoFiles, EmbedFiles []string
			Module              *struct{ GoMod string }
		}
		switch err := packages.Decode(&p); {
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil:
			return nil, err
		case p.Standard:
			continue
		}

		for _, name := range append(p.GoFiles, p.EmbedFiles...) {
			files = append(files, filepath.Join(p.Dir, name))
		}
		if p.Module != nil && p.Module.GoMod != "" && !modules[p.Module.GoMod] {
			modules[p.Module.GoMod] = true
			files = append(files, p.Module.GoMod)
		}
	}
}

// Fresh builds the plugin in a folder anew where its module is missing or older than its source, by the compiler that
// it was built by, and says so on messages. It returns the module's file.
func Fresh(ctx context.Context, folder, module string, messages io.Writer) (string, error) {
	o := Options{Folder: folder, Out: module, Debug: true, Messages: messages}
	why := "there is no module yet"
	if module != "" {
		newer, err := Newer(ctx, folder, module)
		if err != nil || newer == "" {
			return module, err
		}
		why = fmt.Sprintf("%s is newer than %s", newer, module)
		o.Compiler = compilerOf(module)
	}

	fmt.Fprintf(messages, "%s: building it anew\n", why)
	r, err := Build(ctx, o)
	if err != nil {
		return "", fmt.Errorf("%s, so it has to be built anew: %w\n"+
			"(to use a module as it is, name its file)", why, err)
	}
	fmt.Fprintf(messages, "%s: built by %s in %v\n", r.File, r.Compiler, r.Took.Round(100*time.Millisecond))

	return r.File, nil
}

// compilerOf is the compiler that has built a module: TinyGo's have a debug form beside them, and std Go's have none.
func compilerOf(module string) string {
	if _, err := os.Stat(plugins.DebugFile(module)); err == nil {
		return TinyGo
	}
	if info, err := os.Stat(module); err == nil && info.Size() > leastOfGo {
		return Go
	}

	return TinyGo
}

// leastOfGo is less than any module of std Go has, whose runtime alone is larger, in bytes.
const leastOfGo = 1 << 20
