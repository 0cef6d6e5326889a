package generate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/windlass-dev/windlass/author/generate/table"
)

// source is the generated file of one package.
type source struct {
	pkg     *loader.Package
	imports table.Imports
	tables  []table.Table
	helpers map[string]string // tables of map entries and of lists in lists, by what they are of
}

// walker goes through all types that kinds are made of.
type walker struct {
	*program
	sources map[*loader.Package]*source
	kinds   map[crd.TypeIdent]bool
	done    map[crd.TypeIdent]bool
	under   []crd.TypeIdent // the structs that the walk is in
}

// sources makes the generated files by their path.
func (p *program) sources(definitions []definition) (map[string][]byte, error) {
	w := &walker{program: p, sources: map[*loader.Package]*source{}, kinds: map[crd.TypeIdent]bool{},
		done: map[crd.TypeIdent]bool{}}
	for _, d := range definitions {
		for _, k := range d.kinds {
			w.kinds[k] = true
		}
	}
	for _, d := range definitions {
		for _, k := range d.kinds {
			w.structure(k, k.Name)
		}
	}
	if len(p.problems) > 0 {
		return nil, nil
	}
	files := map[string][]byte{}
	for pkg, s := range w.sources {
		b, err := s.printFile(p.parser.GroupVersions[pkg], definitions)
		if err != nil {
			return nil, err
		}
		name := filepath.Join(filepath.Dir(pkg.GoFiles[0]), Filename)
		files[relative(name)] = b
	}
	return files, nil
}

func (w *walker) sourceFor(pkg *loader.Package) *source {
	s := w.sources[pkg]
	if s == nil {
		s = &source{pkg: pkg, imports: table.Imports{"unsafe": "unsafe", table.WirePath: "wire"},
			helpers: map[string]string{}}
		w.sources[pkg] = s
	}
	return s
}

// structure makes the table of an author's struct. at is where a value of it lies, from the kind on.
func (w *walker) structure(t crd.TypeIdent, at string) {
	info := w.parser.Types[t]
	if info == nil {
		w.parser.NeedPackage(t.Package)
		if info = w.parser.Types[t]; info == nil {
			w.addProblem(Problem{Path: at, Message: fmt.Sprintf("the type %s.%s can't be found", t.Package.PkgPath, t.Name)})
			return
		}
	}
	if w.done[t] {
		return
	}

	w.done[t] = true
	w.under = append(w.under, t)
	defer func() { w.under = w.under[:len(w.under)-1] }()
	if info.RawSpec.TypeParams != nil {
		w.problem(info.RawSpec, at,
			"%s has type parameters, which a definition's schema can't have: write a type for each use", t.Name)
		return
	}

	s := w.sourceFor(t.Package)
	x := table.Table{Name: t.Name + "Table", Of: t.Name}
	names := map[string]bool{}
	for _, f := range info.Fields {
		where := at
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		embedded := len(f.RawField.Names) == 0
		goName := f.Name
		if embedded {
			goName = embeddedName(f.RawField.Type)
		}
		if name != "" && name != "-" {
			where += "." + name
		} else if !embedded {
			where += "." + goName
		}
		fail := func(format string, args ...any) { w.problem(f.RawField, where, format, args...) }
		switch {
		case len(f.RawField.Names) > 1:
			fail("several fields share one declaration, and so one json tag: declare each by itself")
			continue
		case !tagged:
			fail("the field has no json tag: give it one, such as `json:%q`",
				strings.ToLower(goName[:1])+goName[1:]+",omitempty")
			continue
		case goName == "XUnknown" && tag == "-":
			if types.TypeString(types.Unalias(t.Package.TypesInfo.TypeOf(f.RawField.Type)), nil) != table.WirePath+".Unknown" {
				fail("XUnknown keeps what the type doesn't know: its type must be metav1.Unknown")
			}
			x.Spare = true
			continue
		case tag == "-":
			fail("the field doesn't travel with the object, so it would be lost between two syncs: remove it from the type")
			continue
		case !ast.IsExported(goName):
			fail("the field isn't exported: begin its name with a capital")
			continue
		case slices.Contains(strings.Split(options, ","), "string"):
			fail("the json option string isn't supported: make the field a string, or remove the option")
			continue
		case name == "" && !embedded:
			fail("the json tag has no name: write `json:%q`", strings.ToLower(goName[:1])+goName[1:]+","+options)
			continue
		case names[name]:
			fail("another field has the JSON name %s, too", name)
			continue
		}
		row, err := w.kindOfField(s, f.RawField.Type, where)
		if err != nil {
			if !errors.Is(err, errReported) {
				fail("%s", err)
			}
			continue
		}
		row.Name, row.JSON = goName, name
		row.Keep = !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && name != ""
		if name == "" && row.Kind != "wire.Message" {
			fail("an embedded field without a JSON name must be a struct, not a pointer to one or anything else")
			continue
		}
		if w.kinds[t] && name == "metadata" {
			row.Num, row.Keep = 1, false
		}
		names[name] = name != ""
		x.Fields = append(x.Fields, row)
	}

	if !x.Spare {
		w.problem(info.RawSpec, at,
			"%s has no room for the members that it doesn't know, and an update would drop them: add the field\tXUnknown metav1.Unknown `json:\"-\"`", t.Name)
	}

	// A kind's TypeMeta first, its metadata last.
	slices.SortStableFunc(x.Fields, func(a, b table.Field) int { return sortWeight(a) - sortWeight(b) })
	s.tables = append(s.tables, x)
}

func sortWeight(f table.Field) int {
	if f.Name == "TypeMeta" {
		return -1
	}
	return f.Num
}

func embeddedName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// errReported stands for what was noted already.
var errReported = errors.New("reported")

// kindOfField returns the kind of a field's type, as the author wrote it.
func (w *walker) kindOfField(s *source, e ast.Expr, at string) (table.Field, error) {
	if err := w.rejectGoMaps(e); err != nil {
		return table.Field{}, err
	}
	t := s.pkg.TypesInfo.TypeOf(e)
	if t == nil {
		return table.Field{}, errors.New("unknown type")
	}
	return w.kindOfType(s, t, at)
}

// rejectGoMaps refuses Go's maps.
func (w *walker) rejectGoMaps(e ast.Expr) (err error) {
	ast.Inspect(e, func(n ast.Node) bool {
		if m, ok := n.(*ast.MapType); ok && w.goMaps[m] {
			k, v := types.ExprString(m.Key), types.ExprString(m.Value)
			use := "metav1.Map[" + k + ", " + v + "]"
			if k == "string" && v == "string" {
				use = "metav1.StringMap"
			}
			err = fmt.Errorf("map[%s]%s: Go's maps have no order, and a plugin must answer the same request the same way each "+
				"time: use %s", k,
				v, use)
		}
		return true
	})
	return err
}

var basics = map[types.BasicKind]string{types.String: "wire.String", types.Bool: "wire.Bool", types.Int32: "wire.Int32",
	types.Int64: "wire.Int64"}

func (w *walker) kindOfType(s *source, t types.Type, at string) (f table.Field, err error) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if k := basics[t.Kind()]; k != "" {
			return table.Field{Kind: k}, nil
		}
		switch info := t.Info(); {
		case t.Kind() == types.Invalid:
			return f, errors.New("unknown type: is its package imported, and does it compile?")
		case info&types.IsFloat != 0:
			return f, fmt.Errorf("%s: floats are read differently by different clients: use resource.Quantity, or an int32 of "+
				"thousandths", t)
		case info&types.IsInteger != 0:
			return f, fmt.Errorf("%s: a number in an API has a fixed size and a sign: use int32 or int64", t)
		}
		return f, fmt.Errorf("%s has no form in JSON: use another type", t)

	case *types.Pointer:
		f, err = w.kindOfType(s, t.Elem(), at)
		if err == nil && (strings.Contains(f.Kind, "|") || f.Kind == "wire.Bytes") {
			return f,
				fmt.Errorf("a pointer to a list, a map or another pointer: those can be absent by themselves, remove the " +
					"pointer")
		}
		f.Kind = "wire.Ptr | " + f.Kind
		return f, err

	case *types.Slice:
		if b, ok := types.Unalias(t.Elem()).(*types.Basic); ok && b.Kind() == types.Byte {
			return table.Field{Kind: "wire.Bytes"}, nil
		}
		f, err = w.kindOfType(s, t.Elem(), at+"[]")
		switch {
		case err != nil:
			return f, err
		case strings.Contains(f.Kind, "wire.Ptr"):
			return f, errors.New("a list of pointers: JSON has no place for a missing element, make it a list of values")
		case strings.Contains(f.Kind, "|"):
			f = table.Field{Kind: "wire.Message", Elem: w.listTable(s, t.Elem(), f)}
		}
		f.Kind = "wire.Rep | " + f.Kind
		return f, nil

	case *types.Map:
		return w.kindOfMap(s, t.Key(), t.Elem(), at)
	case *types.Named:
		return w.kindOfNamed(s, t, at)
	case *types.Array:
		return f, fmt.Errorf("%s: lists have no fixed length in JSON: use a slice, with the markers "+
			"+kubebuilder:validation:MinItems and MaxItems", t)
	case *types.Interface:
		return f, errors.New("an interface may hold anything, and the schema couldn't say what: use a concrete type, or " +
			"apiextensionsv1.JSON (" + sdkPath + "api/apiextensions/v1) for any JSON")
	case *types.Struct:
		return f, errors.New("a struct without a name: give its type a name, so that markers and comments have a place")
	case *types.Chan, *types.Signature:
		return f, fmt.Errorf("%s has no form in JSON: use another type", t)
	}
	return f, fmt.Errorf("%s is a type that objects can't have", t)
}

// kindOfNamed returns the kind of a type with a name.
func (w *walker) kindOfNamed(s *source, t *types.Named, at string) (f table.Field, err error) {
	o := t.Obj()
	if o.Pkg() == nil {
		return f, fmt.Errorf("%s has no form in JSON: use another type", o.Name())
	}

	where := o.Pkg().Path()
	if a := t.TypeArgs(); where == table.WirePath && o.Name() == "Dict" && a.Len() == 2 {
		return w.kindOfMap(s, a.At(0), a.At(1), at)
	} else if a.Len() > 0 {
		return f, fmt.Errorf("%s has type parameters, which a definition's schema can't have: write a type for each use",
			o.Name())
	}

	pkg := w.all[where]
	if isSDKPackage(where) || pkg == nil || !w.isOwnPackage(pkg) {
		name := o.Name() + "Table"
		if o.Pkg().Scope().Lookup(name) != nil {
			return table.Field{Kind: "wire.Message", Elem: s.importAlias(o.Pkg()) + "." + name}, nil
		}
		if _, ok := t.Underlying().(*types.Struct); ok {
			return f, fmt.Errorf("%s.%s is in another module, and isn't a type of the SDK: declare the type in your own module",
				where, o.Name())
		}
		return w.kindOfType(s, t.Underlying(), at)
	}

	ident := crd.TypeIdent{Package: pkg, Name: o.Name()}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		if info := w.parser.Types[ident]; info != nil {
			if err := w.rejectGoMaps(info.RawSpec.Type); err != nil {
				w.problem(info.RawSpec, at, "%s", err)
				return f, errReported
			}
		}
		return w.kindOfType(s, t.Underlying(), at)
	}
	if slices.Contains(w.under, ident) {
		return f, fmt.Errorf("%s contains itself, which a definition's schema can't express: use apiextensionsv1.JSON where "+
			"it begins again", o.Name())
	}

	w.structure(ident, at)
	elem := o.Name() + "Table"
	if pkg != s.pkg {
		if !o.Exported() {
			return f, fmt.Errorf("%s isn't exported", o.Name())
		}
		elem = s.importAlias(o.Pkg()) + "." + elem
	}
	return table.Field{Kind: "wire.Message", Elem: elem}, nil
}

// kindOfMap returns the kind of a map.
func (w *walker) kindOfMap(s *source, key, value types.Type, at string) (f table.Field, err error) {
	if b, ok := key.Underlying().(*types.Basic); !ok || b.Kind() != types.String {
		return f, fmt.Errorf("a map with keys of type %s: JSON has only text for keys, use string", key)
	}
	v, err := w.kindOfType(s, value, at+"[]")
	if err != nil {
		return f, err
	}
	f = table.Field{Kind: "wire.Map | wire.Message", Elem: "wire.StringEntry"}
	if v.Kind != "wire.String" {
		k, e := s.goType(key), s.goType(value)
		f.Elem = s.helperTable("entry", k+" To "+e, func(name string) table.Table { return table.Entry(name, k, e, v) })
	}
	return f, nil
}

// listTable returns the table of a list, or map, that is an element of a list.
func (w *walker) listTable(s *source, t types.Type, f table.Field) string {
	of := s.goType(t)
	return s.helperTable("list", of, func(name string) table.Table {
		f.Num = 1
		return table.Table{Name: name, Of: of, Form: "wire.Bare", Fields: []table.Field{f}}
	})
}

// helperTable returns the name of the table of a type that has no name to build one from.
func (s *source) helperTable(prefix, of string, make func(name string) table.Table) string {
	key := prefix + " " + of
	if name := s.helpers[key]; name != "" {
		return name
	}
	name := prefix
	for _, word := range strings.FieldsFunc(of, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' &&
			r <= 'Z' || r >= '0' && r <= '9')
	}) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	for taken, n := name, 2; slices.ContainsFunc(s.tables, func(t table.Table) bool { return t.Name == name }); n++ {
		name = taken + strconv.Itoa(n)
	}
	s.helpers[key] = name
	s.tables = append(s.tables, make(name))
	return name
}

// goType writes a type as the generated file has it.
func (s *source) goType(t types.Type) string {
	switch t := t.(type) {
	case *types.Basic:
		return t.Name()
	case *types.Pointer:
		return "*" + s.goType(t.Elem())
	case *types.Slice:
		return "[]" + s.goType(t.Elem())
	case *types.Map:
		return "wire.Dict[" + s.goType(t.Key()) + ", " + s.goType(t.Elem()) + "]"
	case interface {
		Obj() *types.TypeName
		TypeArgs() *types.TypeList
	}:
		name := t.Obj().Name()
		if p := t.Obj().Pkg(); p != nil && p.Path() != s.pkg.PkgPath {
			name = s.importAlias(p) + "." + name
		}

		if a := t.TypeArgs(); a.Len() > 0 {
			parts := make([]string, a.Len())
			for i := range parts {
				parts[i] = s.goType(a.At(i))
			}
			name += "[" + strings.Join(parts, ", ") + "]"
		}
		return name
	}
	return t.String()
}

// importAlias imports a package and returns its name in the file: corev1.
func (s *source) importAlias(p *types.Package) string {
	if a := s.imports[p.Path()]; a != "" {
		return a
	}
	alias := p.Name()
	if alias != path.Base(path.Dir(p.Path())) && len(alias) > 1 && alias[0] == 'v' && alias[1] >= '0' && alias[1] <= '9' {
		alias = strings.NewReplacer("-", "", ".", "", "_", "").Replace(path.Base(path.Dir(p.Path()))) + alias
	}
	for taken, n := alias, 2; s.isNameUsed(alias); n++ {
		alias = taken + strconv.Itoa(n)
	}
	s.imports.Add(p.Path(), alias)
	return alias
}

func (s *source) isNameUsed(alias string) bool {
	for _, a := range s.imports {
		if a == alias {
			return true
		}
	}
	return s.pkg.Types.Scope().Lookup(alias) != nil
}
