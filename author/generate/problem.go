package generate

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Problems are what is wrong with an author's types.
type Problems []Problem

// Problem is one of them.
type Problem struct {
	Position token.Position // where it is known
	Path     string         // of the field, from its kind or its type on; may be empty
	Message  string
}

// Error lists the problems, a line each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.Message
		if x.Path != "" {
			lines[i] = x.Path + ": " + lines[i]
		}
		if x.Position.Filename != "" {
			lines[i] = x.Position.String() + ": " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// problem notes what is wrong at a node.
func (p *program) problem(at ast.Node, path, format string, args ...any) {
	p.addProblem(Problem{p.fset.Position(at.Pos()), path, fmt.Sprintf(format, args...)})
}

func (p *program) addProblem(x Problem) {
	x.Position.Filename = relative(x.Position.Filename)
	if !slices.Contains(p.problems, x) {
		p.problems = append(p.problems, x)
	}
}

// relative is a file's path as seen from the working directory, where that is shorter.
func relative(name string) string {
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if rel, err := filepath.Rel(dir, name); err == nil && len(rel) < len(name) {
			return rel
		}
	}
	return name
}

// foundProblems returns what was found wrong so far, or else what controller-tools found.
func (p *program) foundProblems() error {
	if len(p.problems) == 0 {
		for _, pkg := range p.all {
			for _, e := range pkg.Errors {
				// of what isn't looked at: only declarations are read, and only those that are needed
				if e.Kind == packages.TypeError {
					continue
				}
				x := Problem{Message: e.Msg}
				x.Position, x.Path = p.position(e.Pos)
				p.addProblem(x)
			}
		}
	}

	if len(p.problems) == 0 {
		return nil
	}
	slices.SortFunc(p.problems, func(a, b Problem) int {
		if c := strings.Compare(a.Position.Filename, b.Position.Filename); c != 0 {
			return c
		}
		if a.Position.Line != b.Position.Line {
			return a.Position.Line - b.Position.Line
		}
		return a.Position.Column - b.Position.Column
	})
	return p.problems
}

// position reads file:line:column, and finds the field that it belongs to.
func (p *program) position(s string) (at token.Position, path string) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 {
		return at, ""
	}
	if len(parts) > 2 {
		at.Column, _ = strconv.Atoi(parts[len(parts)-1])
		parts = parts[:len(parts)-1]
	}
	line, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil {
		return token.Position{}, ""
	}
	at.Filename, at.Line = strings.Join(parts[:len(parts)-1], ":"), line
	for _, pkg := range p.own {
		loader.EachType(pkg, func(f *ast.File, d *ast.GenDecl, t *ast.TypeSpec) {
			if p.fset.Position(f.Pos()).Filename == at.Filename && p.spansLine(d, d.Doc, line) {
				path = t.Name.Name
				if s, ok := t.Type.(*ast.StructType); ok {
					path += p.fieldAt(s, line)
				}
			}
		})
	}
	return at, path
}

func (p *program) fieldAt(s *ast.StructType, line int) string {
	for _, f := range s.Fields.List {
		if p.spansLine(f, f.Doc, line) && len(f.Names) > 0 {
			name, _, _ := strings.Cut(loader.ParseAstTag(f.Tag).Get("json"), ",")
			if name == "" {
				name = f.Names[0].Name
			}
			return "." + name
		}
	}
	return ""
}

// spansLine reports whether a line is one of a node's, or of its comment's.
func (p *program) spansLine(n ast.Node, doc *ast.CommentGroup, line int) bool {
	from := n.Pos()
	if doc != nil {
		from = doc.Pos()
	}
	return p.fset.Position(from).Line <= line && line <= p.fset.Position(n.End()).Line
}
