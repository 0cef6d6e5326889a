package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/simple"
	honnef "honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// unwanted are checks that staticcheck leaves out by default, and why we do.
var unwanted = map[string]string{
	"SA9003": "an empty branch with a comment says that a case was thought of",
	"ST1000": "doc.go has a package's comment",
	"ST1003": "names such as Uid and Ip come from wire names",
	"ST1016": "a receiver's name may follow the file",
	"ST1020": "rule comments",
	"ST1021": "rule comments",
	"ST1022": "rule comments",
}

// accepted are beginnings of what the checks say and we leave as it is, and why.
var accepted = map[string]string{
	"SA1019: k8s.io/api/core/v1.Endpoint": "the deprecated API has its controller here, as upstream",
}

// isAccepted reports whether something that a check says is left as it is.
func isAccepted(text string) bool {
	for beginning := range accepted {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

// analyzers returns staticcheck's checks.
func analyzers() []*analysis.Analyzer {
	var all []*analysis.Analyzer
	for _, a := range slices.Concat(honnef.Analyzers, simple.Analyzers, stylecheck.Analyzers) {
		if unwanted[a.Analyzer.Name] == "" && !a.Doc.NonDefault {
			all = append(all, a.Analyzer)
		}
	}
	return all
}

// staticcheck runs the checks on all packages of a Go module below the working directory.
func staticcheck(module string) ([]finding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return runGoVet(self, root, filepath.Join(root, module))
}

// runGoVet runs go vet with a tool in a module's folder and returns what it finds, with paths below root.
func runGoVet(tool, root, module string) ([]finding, error) {
	out, err := execute(module, "go", "vet", "-json", "-vettool="+tool, "./...")
	if err != nil {
		return nil, fmt.Errorf("go vet in %s: %w", module, err)
	}
	return parseVet(root, out)
}

// execute runs a program in a folder and returns what it prints; what it says besides is in the error.
func execute(folder, program string, args ...string) (string, error) {
	c := exec.Command(program, args...)
	c.Dir = folder
	var messages strings.Builder
	c.Stderr = &messages
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, messages.String())
	}
	return string(out), nil
}

var posn = regexp.MustCompile(`^(.*):(\d+):\d+$`)

// parseVet reads what go vet -json prints: for each package an object with, by check, what it found.
func parseVet(root, out string) ([]finding, error) {
	var found []finding
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var packages map[string]map[string]json.RawMessage
		switch err := d.Decode(&packages); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("reading what go vet printed: %w", err)
		}

		for _, checks := range packages {
			for check, raw := range checks {
				var diagnostics []struct{ Posn, Message string }
				if err := json.Unmarshal(raw, &diagnostics); err != nil {
					return nil, fmt.Errorf("%s: %s", check, raw) // an error of the check itself
				}
				for _, x := range diagnostics {
					f, err := parsePosition(root, x.Posn)
					if err != nil {
						return nil, err
					}
					f.rule, f.text = "staticcheck", check+": "+x.Message
					if !isAccepted(f.text) {
						found = append(found, f)
					}
				}
			}
		}
	}
}

// parsePosition returns a finding at a position as go vet prints it.
func parsePosition(root, position string) (finding, error) {
	m := posn.FindStringSubmatch(position)
	if m == nil {
		return finding{}, fmt.Errorf("go vet printed a position %q", position)
	}
	line, err := strconv.Atoi(m[2])
	if err != nil {
		return finding{}, err
	}
	name, err := filepath.Rel(root, m[1])
	if err != nil {
		return finding{}, err
	}
	return finding{path: filepath.ToSlash(name), line: line}, nil
}
