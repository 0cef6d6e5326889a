// Command site makes a site of the repository's pages: HTML that needs no server, no script and nothing from elsewhere.
//
//	site [-out _output/site]
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"html/template"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

func main() {
	out := flag.String("out", "_output/site", "the folder that the site is written to")
	flag.Parse()
	if err := buildSite(".", *out); err != nil {
		log.Fatalf("site: %v", err)
	}
	fmt.Printf("site: %s\n", filepath.Join(*out, "index.html"))
}

// index is the page whose lists are the site's navigation.
const index = "docs/README.md"

// site is the pages of a repository, by their path with slashes.
type site struct {
	root  string
	pages map[string]*document
	files map[string][]byte // what pages show and lead to besides
	nav   []group
}

// document is one page, parsed.
type document struct {
	path   string
	source []byte
	tree   ast.Node
	title  string
}

// group is a heading of the navigation with its pages.
type group struct {
	Title string
	Pages []entry
}

type entry struct{ Title, path string }

// buildSite writes the site of the repository at root into a folder.
func buildSite(root, out string) error {
	s, err := readPages(root)
	if err != nil {
		return err
	}

	t, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}

	for name, d := range s.pages {
		s.resolveLinks(d)
		var body, whole bytes.Buffer
		if err := markdown.Renderer().Render(&body, d.source, d.tree); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		at := targetPath(name)
		page := struct {
			Title, Home, Style string
			Body               template.HTML
			Nav                []navigation
		}{d.title, relative(at, "index.html"), relative(at, "style.css"), template.HTML(body.String()), s.navigation(name)}
		if err := t.Execute(&whole, page); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := writeFile(out, at, whole.Bytes()); err != nil {
			return err
		}
	}

	for name, b := range s.files {
		if err := writeFile(out, name, b); err != nil {
			return err
		}
	}
	return writeFile(out, "style.css", style)
}

func writeFile(out, name string, b []byte) error {
	file := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithXHTML()))

// readPages reads the pages of docs/ and those that stand in folders which they speak of.
func readPages(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*document{}, files: map[string][]byte{}}
	for _, pattern := range []string{"*.md", "docs/*.md", "bench/*.md", "deploy/*.md", "deploy/*/*.md", "examples/*/*.md",
		"examples/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			d := parsePage(filepath.ToSlash(name), source)
			s.pages[d.path] = d
		}
	}
	return s, s.findNavigation()
}

// parsePage parses a page, without the comments in it, which are for tests.
func parsePage(name string, source []byte) *document {
	d := &document{path: name, source: source, tree: markdown.Parser().Parse(text.NewReader(source)), title: name}
	var comments []ast.Node
	for n := d.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHTMLBlock {
			comments = append(comments, n)
		}
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 && d.title == name {
			d.title = plainText(h, source)
		}
	}
	for _, n := range comments {
		d.tree.RemoveChild(d.tree, n)
	}
	return d
}

// plainText returns the text below a node.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// findNavigation takes the navigation from the index: its second-level headings, with the first link of each item below
// them.
func (s *site) findNavigation() error {
	d := s.pages[index]
	if d == nil {
		return fmt.Errorf("there is no %s", index)
	}
	for n := d.tree.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				s.nav = append(s.nav, group{Title: plainText(n, d.source)})
			}
		case *ast.List:
			if len(s.nav) == 0 {
				continue
			}
			g := &s.nav[len(s.nav)-1]
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				if l := firstLink(item); l != nil {
					g.Pages = append(g.Pages, entry{plainText(l, d.source), path.Join("docs", string(l.Destination))})
				}
			}
		}
	}
	return nil
}

func firstLink(n ast.Node) (found *ast.Link) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering && found == nil {
			found = l
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return found
}

// navigation is the site's as one page shows it.
type navigation struct {
	Title string
	Pages []place
}

type place struct {
	Title, Link string
	Here        bool
}

func (s *site) navigation(from string) (all []navigation) {
	for _, g := range s.nav {
		n := navigation{Title: g.Title}
		for _, e := range g.Pages {
			n.Pages = append(n.Pages, place{e.Title, relative(targetPath(from), targetPath(e.path)), e.path == from})
		}
		all = append(all, n)
	}
	return all
}

// targetPath returns where a page of the repository is in the site.
func targetPath(name string) string {
	dir, file := path.Split(name)
	if file == "README.md" {
		return dir + "index.html"
	}
	return dir + strings.TrimSuffix(file, ".md") + ".html"
}

// relative is the way from one file of the site to another.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	same := 0
	for same < len(a)-1 && same < len(b)-1 && a[same] == b[same] {
		same++
	}
	return up[:len(up)-3*same] + strings.Join(b[same:], "/")
}

// mention is how pages speak of each other: by path, from the root of the repository.
var mention = regexp.MustCompile(`\b(?:docs/|bench/|deploy/|examples/)?[A-Za-z0-9_/-]*[A-Za-z0-9]\.md\b`)

// resolveLinks leads the links between pages to their HTML, and makes links of mentions.
func (s *site) resolveLinks(d *document) {
	var texts []*ast.Text
	_ = ast.Walk(d.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.destination(d.path, string(n.Destination)))
			return ast.WalkSkipChildren, nil
		case *ast.Image:
			n.Destination = []byte(s.destination(d.path, string(n.Destination)))
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			name := plainText(n, d.source)
			if s.pages[name] != nil && name != d.path {
				l := ast.NewLink()
				l.Destination = []byte(relative(targetPath(d.path), targetPath(name)))
				n.Parent().ReplaceChild(n.Parent(), n, l)
				l.AppendChild(l, n)
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			texts = append(texts, n)
		}

		return ast.WalkContinue, nil
	})

	for _, t := range texts {
		s.linkMentions(d, t)
	}
}

// destination is where a link of a page leads in the site.
func (s *site) destination(from, to string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") {
		return to
	}
	file, anchor, anchored := strings.Cut(to, "#")
	name := path.Join(path.Dir(from), file)
	if s.pages[name] == nil {
		if b, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name))); err == nil {
			s.files[name] = b
		}
		return to
	}
	to = relative(targetPath(from), targetPath(name))
	if anchored {
		to += "#" + anchor
	}
	return to
}

// linkMentions makes links of the pages that a text mentions.
func (s *site) linkMentions(d *document, t *ast.Text) {
	value := t.Segment.Value(d.source)
	var after ast.Node = t
	last := 0
	for _, at := range mention.FindAllIndex(value, -1) {
		name := string(value[at[0]:at[1]])
		if s.pages[name] == nil || name == d.path {
			continue
		}
		l := ast.NewLink()
		l.Destination = []byte(relative(targetPath(d.path), targetPath(name)))
		l.AppendChild(l, ast.NewTextSegment(subSegment(t, at[0], at[1])))
		before := ast.NewTextSegment(subSegment(t, last, at[0]))
		p := t.Parent()
		p.InsertBefore(p, after, before)
		p.InsertBefore(p, after, l)
		last = at[1]
	}
	t.Segment = subSegment(t, last, t.Segment.Len())
}

// subSegment returns the piece of a text from one byte to another.
func subSegment(t *ast.Text, from, to int) text.Segment {
	return text.NewSegment(t.Segment.Start+from, t.Segment.Start+to)
}
