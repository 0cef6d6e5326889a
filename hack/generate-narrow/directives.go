package main

import (
	"go/ast"
	"strings"
)

// directives returns, by the names of a file's types, what stands behind //narrow: above them.
func directives(file *ast.File) map[string][]string {
	found := map[string][]string{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Doc == nil {
			continue
		}
		for _, s := range g.Specs {
			t, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			for _, c := range g.Doc.List {
				if text, ok := strings.CutPrefix(c.Text, "//narrow:"); ok {
					found[t.Name.Name] = append(found[t.Name.Name], text)
				}
			}
		}
	}
	return found
}
