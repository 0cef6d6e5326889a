// Lint says with file and line where the tree's Go isn't as CONTRIBUTING.md wants a page to look, and what staticcheck
// finds in it. It is run in the repository's root by make verify:
//
//	hack/lint.sh    prints what is wrong and the figures of the tree; fails when anything is wrong
//
// It is its own go vet tool, so what staticcheck finds in an unchanged package comes from Go's cache.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	if calledByVet(os.Args[1:]) {
		unitchecker.Main(analyzers()...)
	}

	modules := flag.String("modules", ".",
		"folders of the Go modules that staticcheck looks at, separated by commas; empty: none")
	flag.Parse()

	wrong, err := run(strings.FieldsFunc(*modules, func(r rune) bool { return r == ',' }))
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	if wrong {
		os.Exit(1)
	}
}

// calledByVet reports whether the arguments are those with which go vet calls its tool.
func calledByVet(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-V=") || a == "-flags" || strings.HasSuffix(a, ".cfg")
	})
}

// run checks the tree in the working directory, prints what it finds, and reports whether something has to be mended.
func run(modules []string) (wrong bool, err error) {
	files, err := readTree()
	if err != nil {
		return false, err
	}

	var found []finding
	for _, f := range files {
		found = append(found, f.findings()...)
	}
	for _, m := range modules {
		more, err := staticcheck(m)
		if err != nil {
			return false, err
		}
		found = append(found, more...)
	}
	for _, f := range sortedOnce(found) {
		fmt.Println(f)
		wrong = true
	}

	for _, s := range shares {
		sum := s.sumOver(files)
		fmt.Printf("lint: %s: %s at most %s\n", s.what, sum, percent(s.bound))
		wrong = wrong || sum.fraction() > s.bound
	}
	return wrong, nil
}
