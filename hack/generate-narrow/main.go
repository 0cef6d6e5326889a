// Command generate-narrow writes the wire tables of a package's narrow types: structs with a few of the fields of a
// type of Kubernetes', under the same names, for a sync that sees thousands of them. It is run in the package's folder
// and writes zz_narrow.go. A struct is a narrow type where a line above it says what of:
//
//	//narrow:resource v1/pods Pod namespaced     all of a resource's objects, with the sdk's name for the resource
//	//narrow:part v1 Pod status.conditions       a part of them; with no path: of any object
//
// The structs that a narrow one has fields of are narrow as well, those of the sdk's packages aside. A [][]byte in
// place of a list of messages keeps each as it is on the wire.
package main

import (
	"fmt"
	"go/format"
	"go/types"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/windlass-dev/windlass/author/generate/table"
)

const (
	sdkPath = "github.com/windlass-dev/windlass/sdk/"
	output  = "zz_narrow.go"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("generate-narrow: ")
	text, err := generate(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(output, text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// generate returns the file for the package in a folder.
func generate(folder string) ([]byte, error) {
	// What the file is to declare isn't there the first time: an error of a type's doesn't matter, a struct's fields are
	// known.
	loaded, err := packages.Load(&packages.Config{Dir: folder, Mode: packages.NeedName | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports}, ".")
	if err != nil {
		return nil, err
	}
	if len(loaded) != 1 || loaded[0].Types == nil {
		return nil, fmt.Errorf("%s: no package", folder)
	}

	w := &writer{pkg: loaded[0], imports: table.Imports{}, tables: map[string]table.Table{}}
	w.imports.Add("unsafe", "unsafe")
	w.imports.Add(table.WirePath, "wire")
	roots, err := findRoots(loaded[0])
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: no struct is marked with //narrow", folder)
	}
	for _, r := range roots {
		if err := w.add(r.name, r.of); err != nil {
			return nil, err
		}
	}
	return w.source(roots)
}

// root is a struct that is marked.
type root struct {
	name     string
	of       reflect.Type
	resource *schema.GroupVersionResource // nil of a part
	kind     string
	inSpaces bool
}

// findRoots returns the structs of a package that are marked, in the order of their names.
func findRoots(p *packages.Package) (roots []root, err error) {
	for _, file := range p.Syntax {
		for name, lines := range directives(file) {
			for _, line := range lines {
				r, err := parseRoot(name, line)
				if err != nil {
					return nil, fmt.Errorf("%s: type %s: //narrow:%s: %w", p.Fset.Position(file.Pos()).Filename, name, line, err)
				}
				roots = append(roots, r)
			}
		}
	}
	slices.SortFunc(roots, func(a, b root) int { return strings.Compare(a.name, b.name) })
	return roots, nil
}

// parseRoot reads what stands behind //narrow: above a struct.
func parseRoot(name, line string) (root, error) {
	words := strings.Fields(line)
	r := root{name: name}
	switch {
	case len(words) >= 3 && words[0] == "resource":
		i := strings.LastIndex(words[1], "/")
		if i < 0 {
			return r, fmt.Errorf("%q is no resource: it must be like v1/pods or apps/v1/deployments", words[1])
		}
		gv, err := schema.ParseGroupVersion(words[1][:i])
		if err != nil {
			return r, err
		}
		gvr := gv.WithResource(words[1][i+1:])
		r.resource, r.kind, r.inSpaces = &gvr, words[2], slices.Contains(words[3:], "namespaced")
		r.of, err = typeOf(gv.WithKind(r.kind), "")
		return r, err

	case (len(words) == 3 || len(words) == 4) && words[0] == "part":
		gv, err := schema.ParseGroupVersion(words[1])
		if err != nil {
			return r, err
		}
		r.of, err = typeOf(gv.WithKind(words[2]), strings.Join(words[3:], ""))
		return r, err
	}
	return r, fmt.Errorf(`it must be "resource VERSION/PLURAL KIND [namespaced]" or "part VERSION KIND [PATH]"`)
}

// typeOf returns the type of a kind, or of what is at a path of it.
func typeOf(kind schema.GroupVersionKind, path string) (reflect.Type, error) {
	o, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	t := reflect.TypeOf(o).Elem()
	if path == "" {
		return t, nil
	}

	for name := range strings.SplitSeq(path, ".") {
		f, ok := fieldNamed(t, name)
		if !ok {
			return nil, fmt.Errorf("%s has no field %q", t, name)
		}
		t = elementOf(f.Type)
	}
	return t, nil
}

// fieldNamed returns a struct's field by its name in JSON.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByNameFunc(func(n string) bool {
		f, _ := t.FieldByName(n)
		got, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return got == name
	})
}

// elementOf returns the struct behind pointers and lists.
func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// writer gathers tables of one package.
type writer struct {
	pkg     *packages.Package
	imports table.Imports
	tables  map[string]table.Table
}

// add makes the table of a struct of the package, and of those that it has fields of.
func (w *writer) add(name string, of reflect.Type) error {
	variable := tableName(name)
	if t, done := w.tables[variable]; done {
		return fits(t, of)
	}
	object, ok := w.pkg.Types.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		return fmt.Errorf("type %s isn't there", name)
	}
	narrow, ok := object.Type().Underlying().(*types.Struct)
	if !ok {
		return fmt.Errorf("type %s is no struct", name)
	}

	t := table.Table{Name: variable, Of: name}
	w.tables[variable] = t // so that a type may have fields of its own kind
	for f := range narrow.Fields() {
		wide, ok := of.FieldByName(f.Name())
		if !ok {
			return fmt.Errorf("%s.%s: %s has no such field", name, f.Name(), of)
		}
		made, err := w.field(f, wide)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", name, f.Name(), err)
		}
		t.Fields = append(t.Fields, made)
	}
	slices.SortStableFunc(t.Fields, func(a, b table.Field) int { return a.Num - b.Num })
	w.tables[variable] = t
	return nil
}

// fits returns an error if a table of one wide type isn't right for another one.
func fits(t table.Table, of reflect.Type) error {
	for _, f := range t.Fields {
		wide, ok := of.FieldByName(f.Name)
		if number, err := numberOf(wide); !ok || err != nil || number != f.Num {
			return fmt.Errorf("%s.%s: another type that it is of has it elsewhere on the wire than %s", t.Of, f.Name, of)
		}
	}
	return nil
}

// numberOf returns a field's number on the wire.
func numberOf(f reflect.StructField) (int, error) {
	tag := f.Tag.Get("protobuf")
	if tag == "" && f.Name == "TypeMeta" { // beside the object on the wire
		return 0, nil
	}
	if parts := strings.Split(tag, ","); len(parts) > 1 {
		return strconv.Atoi(parts[1])
	}
	return 0, fmt.Errorf("it isn't on the wire: its tag is %q", tag)
}

// field makes an entry of a table: where the field stands on the wire is the wide type's to say, its form in memory the
// narrow one's.
func (w *writer) field(f *types.Var, wide reflect.StructField) (made table.Field, err error) {
	made.Name = f.Name()
	if made.Num, err = numberOf(wide); err != nil {
		return made, err
	}
	made.Kind, made.Elem, err = w.form(f.Type(), elementOf(wide.Type))
	return made, err
}

// form returns how a field of a Go type lies in memory, and the table of its element.
func (w *writer) form(t types.Type, wide reflect.Type) (kind, elem string, err error) {
	t = types.Unalias(t)
	switch under := t.Underlying().(type) {
	case *types.Basic:
		kind, ok := map[types.BasicKind]string{types.String: "wire.String", types.Bool: "wire.Bool",
			types.Int32: "wire.Int32", types.Int64: "wire.Int64"}[under.Kind()]
		if !ok {
			return "", "", fmt.Errorf("%s can't be on the wire", t)
		}
		return kind, "", nil

	case *types.Pointer:
		kind, elem, err := w.form(under.Elem(), wide)
		return "wire.Ptr | " + kind, elem, err

	case *types.Slice:
		if inner, ok := under.Elem().Underlying().(*types.Slice); ok && types.Identical(inner.Elem(), types.Typ[types.Byte]) {
			return "wire.Rep | wire.Bytes", "", nil
		}
		if named, ok := t.(*types.Named); ok && named.TypeArgs().Len() == 2 { // wire.Dict
			return w.entries(named)
		}
		kind, elem, err := w.form(under.Elem(), wide)
		return "wire.Rep | " + kind, elem, err

	case *types.Struct:
		named, ok := t.(*types.Named)
		if !ok {
			return "", "", fmt.Errorf("a struct needs a name")
		}
		if named.TypeArgs().Len() == 2 {
			return w.entries(named)
		}
		elem, err := w.tableOf(named, wide)
		return "wire.Message", elem, err
	}
	return "", "", fmt.Errorf("%s can't be on the wire", t)
}

// tableOf returns the name of a struct's table: another package's, or one that this file has.
func (w *writer) tableOf(named *types.Named, wide reflect.Type) (string, error) {
	name, from := named.Obj().Name(), named.Obj().Pkg()
	if from == w.pkg.Types {
		return tableName(name), w.add(name, wide)
	}
	return w.alias(from) + tableName(name), nil
}

// entries makes the table of a map's entries.
func (w *writer) entries(dict *types.Named) (kind, elem string, err error) {
	value, valueElem, err := w.form(dict.TypeArgs().At(1), nil)
	if err != nil {
		return "", "", err
	}
	key, of := w.goType(dict.TypeArgs().At(0)), w.goType(dict.TypeArgs().At(1))
	name := "entryOf" + of[strings.LastIndexByte(of, '.')+1:] + "Table"
	w.tables[name] = table.Entry(name, key, of, table.Field{Kind: value, Elem: valueElem})
	return "wire.Map | wire.Message", name, nil
}

func (w *writer) goType(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return t.String()
	}
	return w.alias(named.Obj().Pkg()) + named.Obj().Name()
}

// alias imports a package, and returns what stands before a name of it.
func (w *writer) alias(p *types.Package) string {
	if p == w.pkg.Types {
		return ""
	}
	alias := p.Name()
	if group, ok := strings.CutPrefix(p.Path(), sdkPath+"api/"); ok {
		alias = strings.ReplaceAll(group, "/", "") // corev1
	}
	w.imports.Add(p.Path(), alias)
	return alias + "."
}

// tableName returns the name of the variable with a type's table, which can be seen where the type can.
func tableName(of string) string { return of + "Table" }

// source returns the file.
func (w *writer) source(roots []root) ([]byte, error) {
	var body strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.tables)) {
		t := w.tables[name]
		body.WriteString("// " + t.Name + " is how a " + t.Of + " lies on the wire and in memory.\n")
		body.WriteString(t.Source())
	}

	for _, r := range roots {
		if r.resource == nil {
			continue
		}
		w.imports.Add(sdkPath+"resource", "resource")
		info := strings.ToLower(r.name[:1]) + r.name[1:] + "Info"
		literal := fmt.Sprintf("Version: %q, Name: %q, Kind: %q, ", r.resource.Version, r.resource.Resource, r.kind)
		if r.resource.Group != "" {
			literal = fmt.Sprintf("Group: %q, ", r.resource.Group) + literal
		}
		if r.inSpaces {
			literal += "Namespaced: true, "
		}
		fmt.Fprintf(&body, "var %s = resource.Info{%sType: &%s}\n\n", info, literal, tableName(r.name))
		fmt.Fprintf(&body, "// GetResource names the resource, and the form in which it is read.\n"+
			"func (*%s) GetResource() *resource.Info { return &%s }\n\n", r.name, info)
	}
	return format.Source([]byte("// Code generated by hack/generate-narrow. DO NOT EDIT.\n\npackage " + w.pkg.Name + "\n\n" +
		w.imports.Source() + body.String()))
}
