package main

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	goconst "go/constant"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// sources are the parsed packages of k8s.io, by path.
type sources struct {
	pkgs map[string]*source
}

type source struct {
	path   string
	consts map[string]*constSpec
	types  map[string]typeSpec
	order  []string
}

type constSpec struct {
	typ     ast.Expr
	value   ast.Expr
	iota    int64
	imports map[string]string
}

type typeSpec struct {
	expr ast.Expr
	doc  string
}

// constant is one constant to be written.
type constant struct {
	name, typeName, typePath, value string
}

type markers struct{ client, noVerbs, cluster bool }

func newSources() *sources { return &sources{pkgs: map[string]*source{}} }

func (s *sources) loadPackage(path string) (*source, error) {
	if p := s.pkgs[path]; p != nil {
		return p, nil
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", path, err)
	}

	dir := strings.TrimSpace(string(out))
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}

	p := &source{path: path, consts: map[string]*constSpec{}, types: map[string]typeSpec{}}
	s.pkgs[path] = p
	for _, n := range names {
		if strings.HasSuffix(n.Name(), "_test.go") || !strings.HasSuffix(n.Name(), ".go") {
			continue
		}
		if ok, err := gobuild.Default.MatchFile(dir, n.Name()); err != nil || !ok {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, n.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.addFile(f)
	}

	sort.Strings(p.order)
	return p, nil
}

func (p *source) addFile(f *ast.File) {
	imports := map[string]string{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := filepath.Base(path)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = path
	}

	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}

		var typ ast.Expr
		var values []ast.Expr
		for i, x := range g.Specs {
			switch x := x.(type) {
			case *ast.TypeSpec:
				// Markers may stand in a comment of their own, a blank line above the doc comment.
				doc := ""
				for _, c := range f.Comments {
					if c.End() < x.Pos() && c.Pos() > endBefore(f, g) {
						for _, l := range c.List {
							doc += l.Text + "\n"
						}
					}
				}
				p.types[x.Name.Name] = typeSpec{x.Type, doc}
			case *ast.ValueSpec:
				if g.Tok != token.CONST {
					continue
				}
				if len(x.Values) > 0 {
					typ, values = x.Type, x.Values
				}
				for k, n := range x.Names {
					if k < len(values) {
						p.consts[n.Name] = &constSpec{typ, values[k], int64(i), imports}
						p.order = append(p.order, n.Name)
					}
				}
			}
		}
	}
}

// endBefore returns the end of the declaration in front of d.
func endBefore(f *ast.File, d ast.Decl) token.Pos {
	end := f.Name.End()
	for _, x := range f.Decls {
		if x == d {
			break
		}
		end = x.End()
	}
	return end
}

func (s *sources) markers(p *pkg, typeName string) (m markers, err error) {
	src, err := s.loadPackage(p.path)
	if err != nil {
		return m, err
	}
	for _, l := range strings.Split(src.types[typeName].doc, "\n") {
		switch strings.TrimSpace(strings.TrimPrefix(l, "//")) {
		case "+genclient":
			m.client = true
		case "+genclient:noVerbs":
			m.noVerbs = true
		case "+genclient:nonNamespaced":
			m.cluster = true
		}
	}
	return m, nil
}

// constants are the package's exported constants in alphabetical order.
func (s *sources) constants(p *pkg) ([]constant, error) {
	src, err := s.loadPackage(p.path)
	if err != nil {
		return nil, err
	}
	var list []constant
	for _, n := range src.order {
		if !ast.IsExported(n) {
			continue
		}
		c, v, err := s.evalConstant(src, n)
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", n, err)
		}
		c.name, c.value = n, v.ExactString()
		list = append(list, c)
	}
	return list, nil
}

func (s *sources) evalConstant(p *source, name string) (c constant, v goconst.Value, err error) {
	spec := p.consts[name]
	if spec == nil {
		return c, nil, fmt.Errorf("%s.%s is no constant", p.path, name)
	}
	c, v, err = s.evalExpression(p, spec, spec.value)
	if err == nil && spec.typ != nil {
		c, err = constantType(p, spec, spec.typ)
	}
	return c, v, err
}

// constantType names a constant's type.
func constantType(p *source, spec *constSpec, e ast.Expr) (constant, error) {
	switch e := e.(type) {
	case *ast.Ident:
		if _, ok := p.types[e.Name]; ok {
			return constant{typeName: e.Name, typePath: p.path}, nil
		}
		return constant{typeName: e.Name}, nil
	case *ast.SelectorExpr:
		return constant{typeName: e.Sel.Name, typePath: spec.imports[e.X.(*ast.Ident).Name]}, nil
	}
	return constant{}, fmt.Errorf("type %T", e)
}

func (s *sources) evalExpression(p *source, spec *constSpec, e ast.Expr) (c constant, v goconst.Value, err error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return c, goconst.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.ParenExpr:
		return s.evalExpression(p, spec, e.X)
	case *ast.Ident:
		switch e.Name {
		case "iota":
			return c, goconst.MakeInt64(spec.iota), nil
		case "true", "false":
			return c, goconst.MakeBool(e.Name == "true"), nil
		}
		return s.evalConstant(p, e.Name)
	case *ast.SelectorExpr:
		q, err := s.loadPackage(spec.imports[e.X.(*ast.Ident).Name])
		if err != nil {
			return c, nil, err
		}
		return s.evalConstant(q, e.Sel.Name)
	case *ast.UnaryExpr:
		c, v, err = s.evalExpression(p, spec, e.X)
		if err == nil {
			v = goconst.UnaryOp(e.Op, v, 0)
		}
		return c, v, err
	case *ast.BinaryExpr:
		c, x, err := s.evalExpression(p, spec, e.X)
		if err != nil {
			return c, nil, err
		}
		d, y, err := s.evalExpression(p, spec, e.Y)
		if err != nil {
			return c, nil, err
		}
		if c.typeName == "" {
			c = d
		}
		if e.Op == token.SHL || e.Op == token.SHR {
			n, _ := goconst.Uint64Val(y)
			return c, goconst.Shift(x, e.Op, uint(n)), nil
		}
		return c, goconst.BinaryOp(x, e.Op, y), nil
	case *ast.CallExpr:
		_, v, err = s.evalExpression(p, spec, e.Args[0])
		if err != nil {
			return c, nil, err
		}
		c, err = constantType(p, spec, e.Fun)
		return c, v, err
	}

	return c, nil, fmt.Errorf("expression %T", e)
}

// plainTypes are types that only constants have, with the types under them.
func (s *sources) plainTypes(p *pkg, constants []constant) (list [][2]string) {
	known := map[string]bool{}
	for _, t := range p.types {
		known[t.Name()] = true
	}
	for _, c := range constants {
		if c.typePath != p.path || known[c.typeName] {
			continue
		}
		known[c.typeName] = true
		if under, ok := s.pkgs[p.path].types[c.typeName].expr.(*ast.Ident); ok {
			list = append(list, [2]string{c.typeName, under.Name})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i][0] < list[j][0] })
	return list
}
