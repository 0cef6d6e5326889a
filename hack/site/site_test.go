package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// file is what a page of the site has that others may lead to, and where it leads.
type file struct {
	anchors map[string]bool
	links   []string // of people
	loads   []string // of browsers
}

// Every page is in the navigation and well-formed, all links and anchors lead somewhere, and nothing is loaded from
// elsewhere.
func TestSite(t *testing.T) {
	out := t.TempDir()
	if err := buildSite(root, out); err != nil {
		t.Fatal(err)
	}

	all := map[string]*file{}
	err := filepath.WalkDir(out, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(out, name)
		if err != nil {
			return err
		}
		f := &file{anchors: map[string]bool{}}
		if all[filepath.ToSlash(rel)] = f; strings.HasSuffix(rel, ".html") {
			wellFormed(t, rel, b, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(all) < 20 {
		t.Errorf("the site has %d files", len(all))
	}
	for name, f := range all {
		for _, to := range append(f.links, f.loads...) {
			if strings.HasPrefix(to, "https://") {
				continue
			}
			at, anchor, _ := strings.Cut(to, "#")
			if at = path.Join(path.Dir(name), at); strings.HasPrefix(to, "#") {
				at = name
			}
			switch there := all[at]; {
			case there == nil:
				t.Errorf("%s: a link to %q, which isn't in the site: name a page, or write the path as text", name, to)
			case anchor != "" && !there.anchors[anchor]:
				t.Errorf("%s: a link to %q: that page has no such heading", name, to)
			}
		}
		for _, from := range f.loads {
			if strings.Contains(from, "//") {
				t.Errorf("%s loads %s", name, from)
			}
		}
	}

	if css := string(style); strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style sheet loads something")
	}
}

// wellFormed reads a page as XML, which is stricter than HTML.
func wellFormed(t *testing.T, name string, b []byte, f *file) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}

		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}

		for _, a := range e.Attr {
			switch {
			case a.Name.Local == "id":
				if f.anchors[a.Value] {
					t.Errorf("%s: two headings have the anchor %q", name, a.Value)
				}
				f.anchors[a.Value] = true
			case a.Name.Local == "href" && e.Name.Local == "a":
				f.links = append(f.links, a.Value)
			case a.Name.Local == "href", a.Name.Local == "src":
				f.loads = append(f.loads, a.Value)
			case strings.HasPrefix(a.Name.Local, "on"):
				t.Errorf("%s: a script in %s", name, a.Name.Local)
			}
		}

		if e.Name.Local == "script" {
			t.Errorf("%s: a script", name)
		}
	}
}

// All pages are in the index, and those that others speak of are there.
func TestPages(t *testing.T) {
	s, err := readPages(root)
	if err != nil {
		t.Fatal(err)
	}

	listed := map[string]bool{index: true}
	for _, g := range s.nav {
		for _, e := range g.Pages {
			if s.pages[e.path] == nil {
				t.Errorf("%s names %s, which isn't there", index, e.path)
			}
			listed[e.path] = true
		}
	}

	spoken := regexp.MustCompile(`\b(docs|bench|deploy|examples)/[A-Za-z0-9_/-]+\.md\b`)
	for name, d := range s.pages {
		if path.Dir(name) == "docs" && !listed[name] {
			t.Errorf("%s isn't in %s", name, index)
		}
		if d.title == name {
			t.Errorf("%s has no heading of the first level", name)
		}
		for _, other := range spoken.FindAllString(string(d.source), -1) {
			if s.pages[other] == nil {
				t.Errorf("%s speaks of %s, which isn't there", name, other)
			}
		}
	}
}

func TestRelative(t *testing.T) {
	for _, x := range [][3]string{
		{"index.html", "docs/a.html", "docs/a.html"},
		{"docs/a.html", "index.html", "../index.html"},
		{"docs/a.html", "docs/b.html", "b.html"},
		{"docs/a.html", "bench/index.html", "../bench/index.html"},
		{"examples/x/index.html", "docs/a.html", "../../docs/a.html"},
		{"examples/x/index.html", "examples/y/index.html", "../y/index.html"},
	} {
		if got := relative(x[0], x[1]); got != x[2] {
			t.Errorf("from %s to %s: %q, want %q", x[0], x[1], got, x[2])
		}
	}
}
