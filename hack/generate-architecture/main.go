// Command generate-architecture writes the imports in ARCHITECTURE.md's table of packages, as go list knows them. It
// fails where a package is in no row, and where a row is about none.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const (
	module = "github.com/windlass-dev/windlass"
	ours   = module + "/"
	page   = "ARCHITECTURE.md"
	header = "| package | one sentence | imports |\n|---|---|---|\n"
)

// untold are folders whose packages have no rows: nothing imports them but what is in them.
var untold = regexp.MustCompile(`^(test|hack|examples)/`)

// common are libraries that go without saying.
var common = regexp.MustCompile(`^(k8s\.io/(api|apimachinery|klog|utils)|github\.com/go-logr/logr|golang\.org/x)(/|$)`)

// libraries are names of Go modules that their paths don't end with.
var libraries = map[string]string{
	"go.opentelemetry.io":   "OpenTelemetry",
	"oras.land":             "oras-go",
	"go.yaml.in/yaml":       "yaml",
	"github.com/prometheus": "Prometheus' client",
}

func main() {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..")
	if err := write(root); err != nil {
		log.Fatal(err)
	}
}

// write writes the page in a folder anew.
func write(root string) error {
	packages, err := list(root)
	if err != nil {
		return err
	}

	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	written, err := withImports(string(text), packages)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(path, []byte(written), 0o644)
}

// imports are what each package imports, by its path: ours below the project's, others' whole.
type imports map[string][]string

// list returns the imports of the root module's packages, tests aside.
func list(root string) (imports, error) {
	command := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}

	all := imports{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}

		for i := range p.Imports {
			p.Imports[i] = strings.TrimPrefix(p.Imports[i], ours)
		}
		if path, ok := strings.CutPrefix(p.ImportPath, ours); ok {
			all[path] = p.Imports
		}
	}
}

// withImports returns the page with the last column of its table written anew.
func withImports(text string, packages imports) (string, error) {
	before, rest, found := strings.Cut(text, header)
	rows, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		return "", fmt.Errorf("there is no table that begins with %q", header)
	}

	var failures []error
	told := map[string]string{}
	lines := strings.Split(rows, "\n")
	exact := packages.exactly(lines)
	for i, line := range lines {
		cells := strings.Split(line, " | ")
		if len(cells) < 2 {
			return "", fmt.Errorf("row %q: it has no two columns", line)
		}

		of := packages.named(cells[0], exact)
		if len(of) == 0 {
			failures = append(failures, fmt.Errorf("row %s: there is no such package", cells[0]))
		}
		for _, p := range of {
			if told[p] == "" {
				told[p] = cells[0]
			}
		}
		column := packages.of(of, strings.Contains(cells[0], "<name>"))
		lines[i] = strings.TrimRight(cells[0]+" | "+strings.TrimSuffix(cells[1], " |")+" | "+column, " ") + " |"
	}

	for p := range packages {
		if told[p] == "" && !untold.MatchString(p) {
			failures = append(failures, fmt.Errorf("package %s is in no row of the table: add one that says what it is for", p))
		}
	}
	slices.SortFunc(failures, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return before + header + strings.Join(lines, "\n") + "\n\n" + after, errors.Join(failures...)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// exactly returns the packages that rows name by their paths.
func (all imports) exactly(rows []string) map[string]bool {
	found := map[string]bool{}
	for _, row := range rows {
		cell, _, _ := strings.Cut(row, " | ")
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			found[strings.TrimSuffix(m[1], "/")] = true
		}
	}
	return found
}

// named returns the packages that the first column of a row names: by their paths or, where no row does so, by a
// pattern that ends in "/..." or has <name> in it. A slash at the end says no more than that it is a folder.
func (all imports) named(cell string, exact map[string]bool) (found []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		path := strings.TrimSuffix(m[1], "/")
		below, isTree := strings.CutSuffix(path, "/...")
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(path), "<name>", "[a-z]+") + "$")
		for p := range all {
			if p == path || !exact[p] && (pattern.MatchString(p) || isTree && strings.HasPrefix(p, below+"/")) {
				found = append(found, p)
			}
		}
	}
	return found
}

// of returns what packages import, as the table has it: of ours what none of their other imports brings along, then
// libraries. Of a family, which is told by a pattern and grows, it returns the trees that they import from.
func (all imports) of(packages []string, family bool) string {
	direct, libs := map[string]bool{}, map[string]bool{}
	for _, p := range packages {
		for _, i := range all[p] {
			switch _, isOurs := all[i]; {
			case isOurs && !slices.Contains(packages, i):
				direct[i] = true
			case !isOurs && i != module && strings.Contains(strings.SplitN(i, "/", 2)[0], ".") && !common.MatchString(i):
				libs[library(i)] = true
			}
		}
	}

	var names []string
	for i := range direct {
		if tree := treeOf(i); family && tree != "" {
			if name := "`" + tree + "/...`"; !slices.Contains(names, name) {
				names = append(names, name)
			}
			continue
		}
		if !slices.ContainsFunc(keys(direct), func(other string) bool { return other != i && all.reaches(other, i) }) {
			names = append(names, "`"+i+"`")
		}
	}
	names = all.asPattern("plugins/<name>", names)
	slices.Sort(names)
	return strings.Join(append(names, keys(libs)...), ", ")
}

// treeOf returns the tree that a package for plugins is in, empty for others.
func treeOf(path string) string {
	for _, tree := range []string{"sdk", "plugins/shared"} {
		if path == tree || strings.HasPrefix(path, tree+"/") {
			return tree
		}
	}
	return ""
}

// asPattern replaces the names of packages that a pattern names by the pattern, where they are there to the last.
func (all imports) asPattern(pattern string, names []string) []string {
	var own []string
	for _, p := range all.named("`"+pattern+"`", map[string]bool{"plugins/builtin": true, "plugins/conformance": true}) {
		own = append(own, "`"+p+"`")
	}
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(own, n) })
	if len(own) == 0 || len(rest) != len(names)-len(own) {
		return names
	}
	return append(rest, "`"+pattern+"`")
}

// reaches reports whether a package imports another one, by whatever way.
func (all imports) reaches(from, to string) bool {
	return slices.ContainsFunc(all[from], func(i string) bool { return i == to || all.reaches(i, to) })
}

// library returns the name of the library that a package is of.
func library(path string) string {
	for prefix, name := range libraries {
		if strings.HasPrefix(path, prefix) {
			return name
		}
	}

	parts := strings.Split(path, "/")
	if parts[0] == "k8s.io" || parts[0] == "sigs.k8s.io" {
		return parts[1]
	}
	return strings.Split(parts[min(2, len(parts)-1)], ".")[0]
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
