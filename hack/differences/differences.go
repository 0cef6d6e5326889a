// Package differences reads the files that tell of differences from the native kube-controller-manager, and writes them
// as tables.
package differences

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/hack/markdown"
)

// Difference is one row.
type Difference struct {
	Where    string `json:"where"`
	Native   string `json:"native"` // empty where the native manager has nothing like it
	Windlass string `json:"windlass"`
	Why      string `json:"why"`
}

// Table returns differences as a table in Markdown.
func Table(all []Difference) string {
	var b strings.Builder
	b.WriteString("| where | native | Windlass | why |\n|---|---|---|---|\n")
	for _, d := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", markdown.Cell(d.Where), markdown.Cell(d.Native), markdown.Cell(d.Windlass),
			markdown.Cell(d.Why))
	}
	return b.String()
}

// Read returns the differences of a file. Each has all its fields but Native.
func Read(file string) ([]Difference, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	var all []Difference
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, d := range all {
		if missing := cmp.Or(missingField("where", d.Where), missingField("windlass", d.Windlass),
			missingField("why", d.Why)); missing != "" {
			return nil, fmt.Errorf("%s: number %d (%q) has no %s", file, i+1, d.Where, missing)
		}
	}
	return all, nil
}

// missingField returns a field's name when it has no value.
func missingField(name, value string) string {
	if strings.TrimSpace(value) == "" {
		return name
	}
	return ""
}
