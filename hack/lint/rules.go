package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns = 120   // of a line, a tab being one
	maxSteps   = 25    // lines of a function's body without a blank one
	maxLines   = 500   // of a file that isn't a test
	shortName  = 6     // letters of a function's name, at most, for it to be a short one
	maxShort   = 0.40  // of all functions, those with a short name
	maxTooLong = 0.002 // of all lines, those over maxColumns
)

// findings returns what is wrong in a file, in no order.
func (f *file) findings() []finding {
	found := append(f.longLines(), f.releases()...)
	if n := len(f.lines); n > maxLines && !f.isTest() {
		found = append(found, finding{f.path, 1, "size", fmt.Sprintf("%d lines, more than %d", n, maxLines)})
	}

	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = append(found, f.paragraphs(n)...)
			found = append(found, f.checkWords(n.Doc, n.Type)...)
			if isExported(n) && !f.isTest() { // a test's comment says what it shows
				found = append(found, f.checkBeginning(n.Doc, n.Name.Name)...)
			}
		case *ast.Field:
			if t, ok := n.Type.(*ast.FuncType); ok {
				found = append(found, f.checkWords(n.Doc, t)...)
			}
		case *ast.GenDecl:
			found = append(found, f.declared(n)...)
		}
		return true
	})
	return found
}

// longLines finds lines that are too long and could be broken. Those that a literal or an address makes long are only
// counted.
func (f *file) longLines() []finding {
	var found []finding
	literals, _ := f.literalLines()
	for i, l := range f.lines {
		if n := utf8.RuneCountInString(l); n > maxColumns && !literals[i+1] && !isDirective(l) && !isAddress(l) {
			found = append(found, finding{f.path, i + 1, "columns", fmt.Sprintf("%d columns, more than %d", n, maxColumns)})
		}
	}
	return found
}

// literalLines returns the lines that a string literal reaches beyond the last column, and those inside of a raw one,
// which are no code but another file's text.
func (f *file) literalLines() (beyond, inside map[int]bool) {
	beyond, inside = map[int]bool{}, map[int]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if k, ok := n.(*ast.KeyValueExpr); ok && f.set.Position(k.Value.Pos()).Column > maxColumns {
			if _, ok := k.Value.(*ast.BasicLit); ok {
				beyond[f.line(k.Value.Pos())] = true // gofmt keeps it in the column of its neighbours' values
			}
		}
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}

		// What comes before a literal can be broken, if that alone is too long.
		first, last := f.line(l.Pos()), f.line(l.End())
		if f.set.Position(l.Pos()).Column <= maxColumns && (last > first || f.set.Position(l.End()).Column > maxColumns) {
			beyond[first] = true
		}
		for i := first + 1; i <= last; i++ {
			beyond[i], inside[i] = true, true
		}
		return true
	})
	return beyond, inside
}

func isDirective(line string) bool {
	for _, prefix := range []string{"//go:", "//lint:", "// +"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// isAddress reports whether a line is a comment of one word, such as a URL.
func isAddress(line string) bool {
	text, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
	return ok && !strings.Contains(strings.TrimSpace(text), " ")
}

// paragraphs finds a long function without a blank line. One statement has no steps, such as a table or a switch; where
// it is a loop or a condition, its body may have some.
func (f *file) paragraphs(fn *ast.FuncDecl) []finding {
	body := fn.Body
	for body != nil && len(body.List) == 1 {
		body = innerBody(body.List[0])
	}
	if body == nil {
		return nil
	}

	first, last := f.line(body.Lbrace), f.line(body.Rbrace)
	n := last - first - 1
	if n <= maxSteps {
		return nil
	}
	for _, l := range f.lines[first : last-1] {
		if strings.TrimSpace(l) == "" {
			return nil
		}
	}
	text := fmt.Sprintf("%s has %d lines and no blank one between its steps", fn.Name.Name, n)
	return []finding{{f.path, f.line(fn.Pos()), "paragraphs", text}}
}

// innerBody returns the body of a loop or of a condition without an else, or nil.
func innerBody(s ast.Stmt) *ast.BlockStmt {
	switch s := s.(type) {
	case *ast.ForStmt:
		return s.Body
	case *ast.RangeStmt:
		return s.Body
	case *ast.IfStmt:
		if s.Else == nil {
			return s.Body
		}
	}
	return nil
}

// declared finds doc comments of exported types, variables and constants that don't begin with the name.
// What is in a group with a comment of its own may go without: there the names are read one below the other.
func (f *file) declared(d *ast.GenDecl) []finding {
	var found []finding
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if s.Name.IsExported() {
				found = append(found, f.checkBeginning(doc, s.Name.Name)...)
			}
		case *ast.ValueSpec:
			if len(s.Names) == 1 && s.Names[0].IsExported() && !d.Lparen.IsValid() {
				found = append(found, f.checkBeginning(d.Doc, s.Names[0].Name)...)
			}
		}
	}
	return found
}

// checkBeginning finds a doc comment that doesn't begin with the name that it documents.
func (f *file) checkBeginning(doc *ast.CommentGroup, name string) []finding {
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if text == "" || strings.HasPrefix(text, "Deprecated: ") || regexp.MustCompile(`^`+name+`\b`).MatchString(text) {
		return nil
	}
	return []finding{{f.path, f.line(doc.Pos()), "comments", fmt.Sprintf("the comment doesn't begin with %s", name)}}
}

// isExported reports whether a function or method can be called from other packages.
func isExported(fn *ast.FuncDecl) bool {
	if !fn.Name.IsExported() || fn.Recv == nil {
		return fn.Name.IsExported()
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// foreign are the words that our comments once had for "returns" and "reports whether".
var foreign = regexp.MustCompile(`^\S+ (?:(?:\S+ ){0,12}?and )?(gives|tells)\b`)

// checkWords finds a doc comment that says "gives" or "tells" of a function with results, where Go says "returns" or
// "reports whether".
func (f *file) checkWords(doc *ast.CommentGroup, t *ast.FuncType) []finding {
	if t.Results == nil {
		return nil
	}
	m := foreign.FindStringSubmatch(strings.ReplaceAll(doc.Text(), "\n", " "))
	if m == nil {
		return nil
	}
	return []finding{{f.path, f.line(doc.Pos()), "words",
		fmt.Sprintf("%q, where \"returns\" or \"reports whether\" is meant", m[1])}}
}
