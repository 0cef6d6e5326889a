// Package scaffold writes a new plugin's folder: a controller that builds, is tested and runs as it is.
package scaffold

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"go/format"
	"go/token"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/windlass-dev/windlass/author/generate"
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
	// Kind and Group are those of a custom resource that the controller is for; empty: it is for namespaces.
	Kind, Group string
	// Version is this windlass's, which the SDK's source tells.
	Version string
}

// names are what templates are filled with.
type names struct {
	Name, Package, Module, Go string
	Import                    string // of the package, in Go
	// Of a custom resource: Plural is its Go variable, Resource its name.
	Kind, Group, Plural, Resource string
}

var (
	namePattern   = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	kindPattern   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	groupPattern  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)
	modulePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9_~][A-Za-z0-9._~-]*)*$`)
)

const nameMost = 40

// New writes the folder, and returns the names of what it wrote, the SDK's source aside.
func New(ctx context.Context, o Options) (folder string, files []string, err error) {
	n, err := o.pluginNames()
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
	files, err = n.writePlugin(ctx, folder, o.Version)
	return folder, files, err
}

// commonFiles are the files of every plugin, by the templates that they are made of; plainFiles and customFiles those
// of one without and with a custom resource.
func (n *names) commonFiles() map[string]string {
	return map[string]string{
		"go.mod":               "all/go.mod",
		".gitignore":           "all/gitignore",
		"README.md":            "all/README.md",
		"module/main.go":       "all/main.go",
		n.Package + "_test.go": "all/controller_test.go",
	}
}

func (n *names) plainFiles() map[string]string {
	return map[string]string{
		n.Package + ".go":     "plain/controller.go",
		"testdata/cases.yaml": "plain/cases.yaml",
		"testdata/wakes.yaml": "plain/wakes.yaml",
		"testdata/world.yaml": "plain/world.yaml",
	}
}

func (n *names) customFiles() map[string]string {
	return map[string]string{
		n.Package + ".go":     "custom/controller.go",
		"example.yaml":        "custom/example.yaml",
		"testdata/cases.yaml": "custom/cases.yaml",
		"testdata/wakes.yaml": "custom/wakes.yaml",
		"testdata/world.yaml": "custom/world.yaml",
	}
}

// writePlugin writes the plugin's files.
func (n *names) writePlugin(ctx context.Context, folder, version string) (files []string, err error) {
	if err := WriteSDK(folder, version); err != nil {
		return nil, err
	}
	made := n.commonFiles()
	if n.Kind == "" {
		maps.Copy(made, n.plainFiles())
	} else {
		if files, err = n.generate(ctx, folder); err != nil {
			return nil, err
		}
		maps.Copy(made, n.customFiles())
	}
	if err := n.writeTemplates(folder, made); err != nil {
		return nil, err
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(files, maps.Keys(made)))), nil
}

// writeTemplates writes files that are made of templates.
func (n *names) writeTemplates(folder string, made map[string]string) error {
	for to, from := range made {
		text, err := fillTemplate(from, n)
		if err != nil {
			return err
		}
		if err := writeFile(folder, to, text); err != nil {
			return err
		}
	}
	return nil
}

// types are the custom resource's, and generated what windlass makes of them.
const (
	types     = "api/v1/types.go"
	generated = "api/v1/" + generate.Filename
)

// generate writes the custom resource's types and what is made of them, and takes in what it is called there.
func (n *names) generate(ctx context.Context, folder string) (files []string, err error) {
	if err := n.writeTemplates(folder, map[string]string{"go.mod": "all/go.mod", types: "custom/types.go"}); err != nil {
		return nil, err
	}
	if err := generate.Run(ctx, generate.Options{Dir: folder, Out: io.Discard}); err != nil {
		return nil, err
	}
	source, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(generated)))
	if err != nil {
		return nil, err
	}
	m := resourceLine.FindSubmatch(source)
	if m == nil {
		return nil, fmt.Errorf("%s/%s has no resource", folder, generated)
	}
	n.Plural, n.Resource = string(m[1]), string(m[2])
	return []string{types, generated, "crd/" + n.Group + "_" + n.Resource + ".yaml"}, nil
}

// resourceLine is where the generated source names the resource.
var resourceLine = regexp.MustCompile(`(?m)^var (\w+) = resource\.Of\[\w+\]\{.*Name: "([^"]+)"`)

func (o *Options) pluginNames() (*names, error) {
	if !namePattern.MatchString(o.Name) || len(o.Name) > nameMost {
		return nil, fmt.Errorf("%q isn't a valid name for a plugin: at most %d small letters, digits and dashes, a letter "+
			"first, no dash last", o.Name, nameMost)
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
		return nil, fmt.Errorf("--module %q isn't a valid path for your Go module: write it as in go.mod, such as "+
			"example.com/%s", n.Module, o.Name)
	}

	if o.Kind != "" || o.Group != "" {
		if !kindPattern.MatchString(o.Kind) || len(o.Kind) > nameMost {
			return nil, fmt.Errorf("--custom-resource %q isn't a valid kind: at most %d letters and digits, a capital first, "+
				"such as Website", o.Kind, nameMost)
		}
		if !groupPattern.MatchString(o.Group) || len(o.Group) > 200 {
			return nil, fmt.Errorf("--group %q isn't a valid API group: use a domain of yours, such as example.com", o.Group)
		}
		n.Kind, n.Group = o.Kind, o.Group
	}

	n.Import = strconv.Quote(n.Module)
	if path.Base(n.Module) != n.Package {
		n.Import = n.Package + " " + n.Import
	}
	return n, nil
}

// taken are names that Go or the plugin's main package use otherwise.
var taken = []string{"main", "init", "sdk", "internal", "vendor"}

// fillTemplate fills a template. Its marks are others than usual because Go has the usual ones in composite literals.
func fillTemplate(name string, n *names) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("«", "»").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".go") {
		return format.Source(b.Bytes()) // what stands in columns depends on the names
	}
	return b.Bytes(), nil
}
