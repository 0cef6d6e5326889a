package main

import (
	"fmt"
	"go/ast"
	"unicode/utf8"
)

// share is a figure of many files that has a bound.
type share struct {
	what  string
	bound float64
	count func(*file) ratio
}

var shares = []share{
	{"lines over 120 columns", maxTooLong, (*file).tooLong},
	{"functions' names of at most six letters", maxShort, (*file).shortNames},
}

// ratio is a part of a whole.
type ratio struct{ part, whole int }

func (r ratio) fraction() float64 { return float64(r.part) / float64(max(r.whole, 1)) }

func (r ratio) String() string {
	return fmt.Sprintf("%d of %d, %s,", r.part, r.whole, percent(r.fraction()))
}

func percent(v float64) string { return fmt.Sprintf("%.2g %%", 100*v) }

// sumOver returns the share over files.
func (s share) sumOver(files []*file) (sum ratio) {
	for _, f := range files {
		r := s.count(f)
		sum.part += r.part
		sum.whole += r.whole
	}
	return sum
}

// tooLong counts the lines that are too long, for whatever reason, but for those of other files' text.
func (f *file) tooLong() ratio {
	n := 0
	_, text := f.literalLines()
	for i, l := range f.lines {
		if utf8.RuneCountInString(l) > maxColumns && !text[i+1] {
			n++
		}
	}
	return ratio{n, len(f.lines)}
}

// shortNames counts the functions and methods whose names say little by themselves.
func (f *file) shortNames() (r ratio) {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			r.whole++
			if utf8.RuneCountInString(fn.Name.Name) <= shortName {
				r.part++
			}
		}
	}
	return r
}
