package generate

import (
	"context"
	"go/ast"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/windlass-dev/windlass/author/generate/table"
)

const (
	sdkPath  = "github.com/windlass-dev/windlass/sdk/"
	metaPath = sdkPath + "api/meta/v1"
)

// program is the author's packages, read.
type program struct {
	module   string
	fset     *token.FileSet
	roots    []*loader.Package
	own      []*loader.Package // those of the author's that the roots are made of, and the roots
	all      map[string]*loader.Package
	parser   *crd.Parser
	goMaps   map[ast.Node]bool // written as Go's
	problems Problems
}

// loadPackages reads the packages in folders.
func loadPackages(ctx context.Context, module string, folders []string) (*program, error) {
	overrides, err := overrides()
	if err != nil {
		return nil, err
	}

	absolute, err := filepath.Abs(module)
	if err != nil {
		return nil, err
	}

	paths := make([]string, len(folders))
	for i, f := range folders {
		if paths[i], err = filepath.Abs(f); err != nil {
			return nil, err
		}
	}

	fset := token.NewFileSet()
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Context: ctx, Dir: absolute, Fset: fset}, paths...)
	if err != nil {
		return nil, err
	}

	registry := &markers.Registry{}
	if err := (crd.Generator{}).RegisterMarkers(registry); err != nil {
		return nil, err
	}

	p := &program{module: absolute, fset: fset, roots: roots, all: map[string]*loader.Package{},
		goMaps: map[ast.Node]bool{}, parser: &crd.Parser{
			Collector:        &markers.Collector{Registry: registry},
			Checker:          &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}},
			PackageOverrides: overrides,
		}}
	for _, r := range roots {
		p.visitPackage(r)
	}

	if wire := p.all[table.WirePath]; wire != nil {
		wire.NeedSyntax()
		for _, f := range wire.Syntax {
			dictIsMap(f)
		}
	}

	for _, pkg := range p.own {
		pkg.NeedSyntax()
		for _, f := range pkg.Syntax {
			p.imports(f)
			p.markers(f)
			p.substituteMaps(pkg, f)
		}
	}

	if err := p.foundProblems(); err != nil {
		return nil, err
	}
	for _, r := range roots {
		p.parser.NeedPackage(r)
	}
	return p, p.foundProblems()
}

// visitPackage adds the packages that pkg is made of.
func (p *program) visitPackage(pkg *loader.Package) {
	if p.all[pkg.PkgPath] != nil {
		return
	}
	p.all[pkg.PkgPath] = pkg
	if p.isOwnPackage(pkg) {
		p.own = append(p.own, pkg)
	}
	for _, i := range pkg.Imports() {
		p.visitPackage(i)
	}
}

// isOwnPackage reports whether a package is of the author's module, and not the SDK's where they are one.
func (p *program) isOwnPackage(pkg *loader.Package) bool {
	for _, r := range p.roots {
		if r == pkg {
			return true
		}
	}
	return len(pkg.GoFiles) > 0 && strings.HasPrefix(pkg.GoFiles[0], p.module+string(filepath.Separator)) &&
		!isSDKPackage(pkg.PkgPath)
}

func isSDKPackage(path string) bool {
	return strings.HasPrefix(path, sdkPath) || path == strings.TrimSuffix(sdkPath, "sdk/")+"abi" || path == table.WirePath
}

// imports refuses the originals of the SDK's types.
func (p *program) imports(f *ast.File) {
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}

		use := ""
		if rest, ok := strings.CutPrefix(path, "k8s.io/api/"); ok {
			use = sdkPath + "api/" + rest
		} else if u, ok := map[string]string{
			"k8s.io/apimachinery/pkg/apis/meta/v1":                     metaPath,
			"k8s.io/apimachinery/pkg/util/intstr":                      metaPath,
			"k8s.io/apimachinery/pkg/runtime":                          metaPath,
			"k8s.io/apimachinery/pkg/types":                            metaPath,
			"k8s.io/apimachinery/pkg/api/resource":                     sdkPath + "resource",
			"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1": sdkPath + "api/apiextensions/v1",
			"sigs.k8s.io/controller-runtime/pkg/scheme":                "",
			"k8s.io/apimachinery/pkg/runtime/schema":                   "",
		}[path]; ok {
			use = u
		} else {
			continue
		}

		if use == "" {
			p.problem(i, "", "import of %s: a module has no scheme to register types in; take what uses it out", path)
		} else {
			p.problem(i, "", "import of %s: types of plugins are made of the SDK's, which have the same names: import %s", path,
				use)
		}
	}
}

// markers finds markers that nobody knows: controller-gen passes over them without a word.
func (p *program) markers(f *ast.File) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
			name, ok := strings.CutPrefix(text, "+kubebuilder:")
			if !ok || otherTools(name) {
				continue
			}
			known := false
			for _, target := range []markers.TargetType{markers.DescribesPackage, markers.DescribesType,
				markers.DescribesField} {
				known = known || p.parser.Collector.Registry.Lookup(text, target) != nil
			}
			if !known {
				p.problem(c, "", "there is no marker %s: look it up in https://book.kubebuilder.io/reference/markers/crd", text)
			}
		}
	}
}

// otherTools reports whether a kubebuilder marker is for something else than definitions.
func otherTools(name string) bool {
	for _, prefix := range []string{"object", "rbac", "webhook", "ac:", "scaffold"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// substituteMaps shows controller-tools a Go map wherever the SDK's map stands, and remembers those that are Go's
// indeed.
func (p *program) substituteMaps(pkg *loader.Package, f *ast.File) {
	names := map[string]string{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if imported := pkg.Imports()[path]; imported != nil {
			names[imported.Name] = path
			if i.Name != nil {
				delete(names, imported.Name)
				names[i.Name.Name] = path
			}
		}
	}

	is := func(e ast.Expr, of map[string]string) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && of[names[x.Name]] == s.Sel.Name
	}

	astutil.Apply(f, func(c *astutil.Cursor) bool {
		if m, ok := c.Node().(*ast.MapType); ok {
			p.goMaps[m] = true
		}
		return true
	}, func(c *astutil.Cursor) bool {
		switch n := c.Node().(type) {
		case *ast.IndexListExpr:
			if len(n.Indices) == 2 && is(n.X, map[string]string{table.WirePath: "Dict", metaPath: "Map"}) {
				c.Replace(&ast.MapType{Map: n.Pos(), Key: n.Indices[0], Value: n.Indices[1]})
			}
		case *ast.SelectorExpr:
			if is(n, map[string]string{table.WirePath: "StringMap", metaPath: "StringMap"}) {
				c.Replace(&ast.MapType{Map: n.Pos(), Key: &ast.Ident{NamePos: n.Pos(), Name: "string"},
					Value: &ast.Ident{NamePos: n.Pos(), Name: "string"}})
			}
		}
		return true
	})
}

// dictIsMap declares wire.Dict as a map, which is what it is in an object.
func dictIsMap(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "Dict" && s.TypeParams != nil {
			s.Type = &ast.MapType{Map: s.Type.Pos(), Key: &ast.Ident{NamePos: s.Type.Pos(), Name: "K"},
				Value: &ast.Ident{NamePos: s.Type.Pos(), Name: "V"}}
		}
		return true
	})
}
