// Package generate writes what the Go types of a custom resource need beside themselves: the tables that its objects
// travel by, and its CustomResourceDefinition.
//
// The definition is controller-gen's own: its library reads the types and markers. It is shown the SDK's types as the
// Kubernetes types that they stand for.
package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Filename is the generated file's name in a package.
const Filename = "zz_generated.windlass.go"

// groupMarker is what the packages with custom resources have above their package clause.
const groupMarker = "+groupName="

// Options say what to generate.
type Options struct {
	// Dir is the folder whose packages are read, with all folders below it that aren't modules of their own; empty is the
	// working directory.
	Dir string
	// CRDs is the folder for the definitions; empty is crd in the module's folder.
	CRDs string
	// Check only compares: the error names the files that would be written.
	Check bool
	// Out is told the files that were written.
	Out io.Writer
}

// Run writes the files that differ from what they should be.
func Run(ctx context.Context, o Options) error {
	files, err := Files(ctx, o.Dir, o.CRDs)
	if err != nil {
		return err
	}

	stale, err := staleFiles(files)
	if err != nil {
		return err
	}
	if o.Check {
		return staleError(stale, o.Dir)
	}

	for _, name := range stale {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(o.Out, "wrote", name)
	}
	return nil
}

// UpToDate returns an error that names the generated Go files in a folder's module that don't match the types beside
// them: an object's fields would get lost. Definitions aren't looked at, which may be anywhere. Of types that can't be
// read the compiler says more.
func UpToDate(ctx context.Context, dir string) error {
	module, err := moduleOf(dir)
	if err != nil {
		return nil
	}
	folders, err := apiFolders(module)
	if err != nil || len(folders) == 0 {
		return nil
	}
	files, err := Files(ctx, module, "")
	if err != nil {
		return nil
	}

	maps.DeleteFunc(files, func(name string, _ []byte) bool { return filepath.Base(name) != Filename })
	stale, err := staleFiles(files)
	if err != nil {
		return err
	}
	return staleError(stale, module)
}

// staleFiles returns the names of the files that haven't the content that they should have.
func staleFiles(files map[string][]byte) (stale []string, err error) {
	for name, content := range files {
		was, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(was, content) {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// staleError says what to do about stale files; nil: there are none.
func staleError(stale []string, dir string) error {
	if len(stale) == 0 {
		return nil
	}
	return fmt.Errorf("generated files don't match the types: %s: run windlass plugin generate %s",
		strings.Join(stale, ", "), dir)
}

// Files returns the generated files' content by their path, as seen from the working directory. Errors of the types are
// [Problems].
func Files(ctx context.Context, dir, crds string) (map[string][]byte, error) {
	if dir == "" {
		dir = "."
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil,
			errors.New("the go command isn't on the PATH, and is needed to load the packages of the types: install Go")
	}

	module, err := moduleOf(dir)
	if err != nil {
		return nil, err
	}
	if crds == "" {
		crds = filepath.Join(module, "crd")
	}

	folders, err := apiFolders(dir)
	if err != nil {
		return nil, err
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("%s: no package here or below has a comment // %sGROUP above its package clause: write one in the package with your types, such as // %[2]sexample.com", dir, groupMarker)
	}

	p, err := loadPackages(ctx, module, folders)
	if err != nil {
		return nil, err
	}

	files := map[string][]byte{}
	definitions := p.definitions()
	sources, err := p.sources(definitions)
	if err != nil {
		return nil, err
	}

	if err := p.foundProblems(); err != nil {
		return nil, err
	}
	for name, b := range sources {
		files[name] = b
	}

	for _, d := range definitions {
		b, err := d.marshalYAML()
		if err != nil {
			return nil, err
		}
		files[filepath.Join(crds, d.Spec.Group+"_"+d.Spec.Names.Plural+".yaml")] = b
	}
	return files, nil
}

// moduleOf is the folder of the module that dir is in.
func moduleOf(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	up, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Join(at, "..") {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if up == filepath.Dir(up) {
			return "", fmt.Errorf("%s: no go.mod here or above: run it inside a Go module", dir)
		}
		up = filepath.Dir(up)
	}
}

// apiFolders are the folders at and below dir with a Go file that names a group.
func apiFolders(dir string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir:
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if name := d.Name(); err == nil || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
				name == "testdata" || name == "vendor" {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}

		folder := filepath.Dir(path)
		if slices.Contains(list, folder) {
			return nil
		}

		b, err := os.ReadFile(path)
		if err == nil && namesGroup(b) {
			list = append(list, folder)
		}
		return err
	})
	return list, err
}

// namesGroup reports whether a line of a Go file is the marker.
func namesGroup(b []byte) bool {
	for line := range bytes.Lines(b) {
		if comment, ok := bytes.CutPrefix(line, []byte("//")); ok &&
			bytes.HasPrefix(bytes.TrimSpace(comment), []byte(groupMarker)) {
			return true
		}
	}
	return false
}
