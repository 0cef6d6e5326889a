// Lint says with file and line where the tree's Go isn't as CONTRIBUTING.md wants a page to look, and what staticcheck
// finds in it. It is run in the repository's root by make verify:
//
//	hack/lint.sh           prints what is wrong and the figures of the tree; fails when anything is
//	hack/lint.sh -all      the same for the folders too that are still to be mended (hack/lint/todo.txt)
//	hack/lint.sh -prune    takes out of that list what has been mended
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

const todoPath = "hack/lint/todo.txt"

func main() {
	if calledByVet(os.Args[1:]) {
		unitchecker.Main(analyzers()...)
	}

	all := flag.Bool("all", false, "also print what is wrong in the folders that are still to be mended")
	prune := flag.Bool("prune", false, "take out of the list of these folders what has been mended")
	modules := flag.String("modules", ".",
		"folders of the Go modules that staticcheck looks at, separated by commas; empty: none")
	flag.Parse()

	wrong, err := run(strings.FieldsFunc(*modules, func(r rune) bool { return r == ',' }), *all, *prune)
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
func run(modules []string, all, prune bool) (wrong bool, err error) {
	left, err := readTodo(todoPath)
	if err != nil {
		return false, err
	}
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
	found = sortedOnce(found)

	for _, f := range found {
		if listed := left.has(f.folder(), f.rule); all || !listed {
			fmt.Println(f)
			wrong = wrong || !listed
		}
	}
	for _, s := range shares {
		whole := s.sumOver(files)
		mended := s.sumOver(slices.DeleteFunc(slices.Clone(files),
			func(f *file) bool { return left.has(f.folder(), s.rule) }))
		fmt.Printf("lint: %s: %s of the tree, %s of the folders that must hold to it; at most %s\n",
			s.what, whole, mended, percent(s.bound))
		wrong = wrong || mended.fraction() > s.bound
	}
	printCounts(found, left)

	stale := left.staleEntries(found)
	if len(modules) == 0 { // nothing is known of what staticcheck would find
		stale = slices.DeleteFunc(stale, func(e entry) bool { return e.rule == "staticcheck" })
	}
	if prune {
		return wrong, left.write(todoPath, stale)
	}
	for _, s := range stale {
		fmt.Printf("%s: %s has nothing of %s to be mended any more: hack/lint.sh -prune\n", todoPath, s.folder, s.rule)
	}
	return wrong || len(stale) > 0, nil
}

// printCounts prints how much each rule finds in the whole tree, and how many folders it leaves out so far.
func printCounts(found []finding, left todo) {
	for _, rule := range rules {
		n, folders := 0, 0
		for _, f := range found {
			if f.rule == rule {
				n++
			}
		}
		for _, names := range left {
			if slices.Contains(names, rule) {
				folders++
			}
		}
		fmt.Printf("lint: %s: %d findings in the tree; folders still to be mended: %d\n", rule, n, folders)
	}
}
