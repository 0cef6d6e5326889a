// Package docs has the pages of the documentation, for readers at a terminal.
package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:generate go run ../hack/generate-differences

//go:embed *.md
var pages embed.FS

// Index is the page that lists the others.
const Index = "README"

// Names are the pages' names, without .md.
func Names() (all []string) {
	found, err := fs.Glob(pages, "*.md")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, f := range found {
		all = append(all, strings.TrimSuffix(f, ".md"))
	}
	return all
}

// Page returns a page in Markdown, by its name or as other pages speak of it: "tutorial", "docs/tutorial.md".
func Page(name string) (string, error) {
	short := strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")
	if !slices.Contains(Names(), short) {
		return "", fmt.Errorf("there is no page %q: there are %s", name, strings.Join(Names(), ", "))
	}
	b, err := pages.ReadFile(short + ".md")
	return string(b), err
}
