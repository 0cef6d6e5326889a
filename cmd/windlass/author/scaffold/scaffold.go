// Package scaffold writes a new plugin's folder: a controller that builds, is tested and runs as it is.
package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/windlass-dev/windlass/plugins"
)

//go:embed templates
var templates embed.FS

// Options say what is written.
type Options struct {
	// Name is the plugin's: small letters, digits and dashes.
	Name string
	// Folder is made; empty: Name.
	Folder string
	// Module is the path of the Go module; empty: example.com/NAME.
	Module string
	// Version is this windlass's, which the SDK's source tells.
	Version string
}

// names are what templates are filled with.
type names struct {
	Name, Package, Module, Go string
	Import                    string // of the package, in Go
}

var (
	namePattern   = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	modulePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9_~][A-Za-z0-9._~-]*)*$`)
)

const nameMost = 40

// New writes the folder, and gives the names of what it wrote, the SDK's source aside.
func New(o Options) (folder string, files []string, err error) {
	n, err := o.names()
	if err != nil {
		return "", nil, err
	}
	folder = o.Folder
	if folder == "" {
		folder = o.Name
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return "", nil, fmt.Errorf("%s: isn't empty (it has %s): name another folder with --dir", folder, entries[0].Name())
	} else if err != nil && !os.IsNotExist(err) {
		return "", nil, err
	}
	made := map[string]string{
		"go.mod":                       "all/go.mod",
		".gitignore":                   "all/gitignore",
		"README.md":                    "all/README.md",
		"module/main.go":               "all/main.go",
		n.Package + ".go":              "plain/controller.go",
		n.Package + "_test.go":         "all/controller_test.go",
		"testdata/world.yaml":          "plain/world.yaml",
		"testdata/create.in.yaml":      "plain/create.in.yaml",
		"testdata/create.out.yaml":     "plain/create.out.yaml",
		"testdata/unlabelled.in.yaml":  "plain/unlabelled.in.yaml",
		"testdata/unlabelled.out.yaml": "plain/unlabelled.out.yaml",
	}
	for to, from := range made {
		text, err := fill(from, n)
		if err != nil {
			return "", nil, err
		}
		if err := write(folder, to, text); err != nil {
			return "", nil, err
		}
		files = append(files, to)
	}
	slices.Sort(files)
	return folder, files, WriteSDK(folder, o.Version)
}

func (o *Options) names() (*names, error) {
	if !namePattern.MatchString(o.Name) || len(o.Name) > nameMost {
		return nil, fmt.Errorf("%q is no name for a plugin: at most %d small letters, digits and dashes, a letter first, no dash last", o.Name, nameMost)
	}
	if slices.Contains(plugins.Names(), o.Name) {
		return nil, fmt.Errorf("%q is the name of a built-in plugin, which yours would replace: choose another", o.Name)
	}
	n := &names{Name: o.Name, Package: strings.ReplaceAll(o.Name, "-", ""), Module: o.Module, Go: goVersion()}
	if token.IsKeyword(n.Package) || slices.Contains(taken, n.Package) {
		return nil, fmt.Errorf("%q can't be the name of the plugin's Go package: choose another", n.Package)
	}
	if n.Module == "" {
		n.Module = "example.com/" + o.Name
	}
	if !modulePattern.MatchString(n.Module) || n.Module == SDKModule {
		return nil, fmt.Errorf("--module %q is no path for a Go module of yours: name it as in go.mod, such as example.com/%s", n.Module, o.Name)
	}
	n.Import = strconv.Quote(n.Module)
	if path.Base(n.Module) != n.Package {
		n.Import = n.Package + " " + n.Import
	}
	return n, nil
}

// taken are names that Go or the plugin's main package use otherwise.
var taken = []string{"main", "init", "sdk", "internal", "vendor"}

// fill fills a template. Its marks are others than usual because Go has the usual ones in composite literals.
func fill(name string, n *names) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("«", "»").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, n)
	return b.Bytes(), err
}
