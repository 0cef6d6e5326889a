package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
)

// finding is one place that isn't as a rule wants it.
type finding struct {
	path string // below the repository's root, with slashes
	line int
	rule string
	text string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.path, f.line, f.rule, f.text) }

// sortedOnce sorts findings by file and line. What is said of a package and again of its tests stays once.
func sortedOnce(found []finding) []finding {
	slices.SortFunc(found, func(a, b finding) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		if a.line != b.line {
			return a.line - b.line
		}
		return strings.Compare(a.rule+a.text, b.rule+b.text)
	})
	return slices.Compact(found)
}

// file is a Go file that somebody has written.
type file struct {
	path  string
	lines []string
	set   *token.FileSet
	tree  *ast.File
}

func (f *file) line(p token.Pos) int { return f.set.Position(p).Line }

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// readTree parses the Go files below the working directory that git knows or would add, but for generated ones.
func readTree() ([]*file, error) {
	out, err := execute(".", "git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.go")
	if err != nil {
		return nil, fmt.Errorf("listing the tree's files with git: %w", err)
	}

	var files []*file
	for _, name := range strings.Fields(out) {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			return nil, err
		}
		f, err := parseFile(name, string(text))
		if err != nil {
			return nil, err
		}
		if !ast.IsGenerated(f.tree) {
			files = append(files, f)
		}
	}
	return files, nil
}

// parseFile parses one file.
func parseFile(name, text string) (*file, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{path: name, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), set: set, tree: tree}, nil
}
