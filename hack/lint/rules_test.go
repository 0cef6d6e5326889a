package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var long = strings.Repeat("x", 130)

// stepsBody returns a function's body of n lines.
func stepsBody(n int) string { return strings.Repeat("\tf()\n", n) }

func TestRules(t *testing.T) {
	for _, x := range []struct {
		name, path, text string
		want             []string // line: rule
	}{
		{"a long line of code", "a.go", "var a = b+" + long, []string{"2: columns"}},
		{"a long comment", "a.go", "// a " + long, []string{"2: columns"}},
		{"an address", "a.go", "// https://" + long, nil},
		{"a literal that reaches beyond", "a.go", `var a = "` + long + `"`, nil},
		{"a literal that begins beyond", "a.go", "var a = b" + long + ` + "c"`, []string{"2: columns"}},
		{"a value that its neighbours push beyond", "a.go", "var a = map[string]string{`" + long + "`: `b`}", nil},
		{"lines of a raw literal", "a.go", "var a = `\n" + long + "\n`", nil},
		{"a comment behind a literal", "a.go", `var a = "b" // and ` + long, []string{"2: columns"}},

		{"25 lines", "a.go", "func f() {\n" + stepsBody(25) + "}", nil},
		{"26 lines", "a.go", "func f() {\n" + stepsBody(26) + "}", []string{"2: paragraphs"}},
		{"26 lines with a blank one", "a.go", "func f() {\n" + stepsBody(10) + "\n" + stepsBody(16) + "}", nil},
		{"one long switch", "a.go", "func f() {\nswitch {\ncase true:\n" + stepsBody(30) + "}\n}", nil},
		{"one long loop", "a.go", "func f() {\nfor {\n" + stepsBody(30) + "}\n}", []string{"2: paragraphs"}},

		{"a short loop over a long table", "a.go",
			"func f() {\nfor range []int{\n" + strings.Repeat("1,\n", 30) + "} {\n" + stepsBody(3) + "}\n}", nil},

		{"a comment without the name", "a.go", "// Does it.\nfunc F() {}", []string{"2: comments"}},
		{"a comment with another name", "a.go", "// Fine does it.\nfunc F() {}", []string{"2: comments"}},
		{"a comment with the name", "a.go", "// F does it.\nfunc F() {}", nil},
		{"an article", "a.go", "// A T is it.\ntype T int", nil},
		{"a method", "a.go", "type T int\n// Does it.\nfunc (t *T) F() {}", []string{"3: comments"}},
		{"a method of what is not exported", "a.go", "type t int\n// Does it.\nfunc (t *t) F() {}", nil},
		{"a type in a group", "a.go", "type (\n// It is.\nT int\n)", []string{"3: comments"}},
		{"a group of constants", "a.go", "// Kinds of it.\nconst (\nA = 1\n// to be\nB = 2\n)", nil},
		{"a test", "a_test.go", "// It does it.\nfunc TestF() {}", nil},

		{"gives", "a.go", "// f gives one.\nfunc f() int { return 1 }", []string{"2: words"}},
		{"tells in the second place", "a.go", "// f asks and tells whether.\nfunc f() bool { return true }",
			[]string{"2: words"}},
		{"gives of what has no results", "a.go", "// f gives memory back.\nfunc f() {}", nil},
		{"gives further on", "a.go", "// f returns what the host gives it.\nfunc f() int { return 1 }", nil},
		{"a field", "a.go", "type t struct {\n// F tells whether.\nF func() bool\n}", []string{"3: words"}},
		{"an interface", "a.go", "type t interface {\n// F tells whether.\nF() bool\n}", []string{"3: words"}},

		{"a call under a lock", "host/a.go", "func f() {\nmu.Lock()\ng()\nmu.Unlock()\n}", []string{"3: locks"}},
		{"a call in a branch", "host/a.go", "func f() {\nmu.RLock()\nif a {\ng()\n}\nmu.RUnlock()\n}",
			[]string{"3: locks"}},
		{"a call before the defer", "host/a.go", "func f() {\nmu.Lock()\ng()\ndefer mu.Unlock()\n}",
			[]string{"3: locks"}},
		{"the other lock is released", "host/a.go",
			"func f() {\na.mu.Lock()\ndefer b.mu.Unlock()\ng()\na.mu.Unlock()\n}", []string{"3: locks"}},
		{"a lock in a case", "host/a.go", "func f() {\nselect {\ncase <-c:\nmu.Lock()\ng()\nmu.Unlock()\n}\n}",
			[]string{"5: locks"}},
		{"a deferred release", "host/a.go", "func f() {\nmu.Lock()\ndefer mu.Unlock()\ng()\n}", nil},
		{"a release in a deferred function", "host/a.go",
			"func f() {\nmu.Lock()\ndefer func() {\nmu.Unlock()\n}()\ng()\n}", nil},
		{"a call after the release", "host/a.go",
			"func f() {\nmu.Lock()\nif a {\nmu.Unlock()\ng()\nreturn\n}\nmu.Unlock()\ng()\n}", nil},
		{"no call that may panic", "host/a.go", "func f() {\nmu.Lock()\na = append(a, len(b))\nmu.Unlock()\n}", nil},
		{"a lock of a test", "host/a_test.go", "func f() {\nmu.Lock()\ng()\nmu.Unlock()\n}", nil},
		{"a lock elsewhere", "sdk/a.go", "func f() {\nmu.Lock()\ng()\nmu.Unlock()\n}", nil},

		{"a long file", "a.go", strings.Repeat("\n", 500), []string{"1: size"}},
		{"a long test", "a_test.go", strings.Repeat("\n", 500), nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			f, err := parseFile(x.path, "package p\n"+x.text+"\n")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, found := range sortedOnce(f.findings()) {
				got = append(got, fmt.Sprintf("%d: %s", found.line, found.rule))
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("found %q, want %q", got, x.want)
			}
		})
	}
}

func TestShares(t *testing.T) {
	f, err := parseFile("a.go", "package p\n\nfunc six123() {}\n\nfunc seven12() {}\n\nvar a = `\n"+long+
		"\n`\n\nvar b = \""+
		long+"\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.shortNames(), (ratio{1, 2}); got != want {
		t.Errorf("short names: %v, want %v", got, want)
	}
	if got, want := f.tooLong(), (ratio{1, 11}); got != want {
		t.Errorf("long lines: %v, want %v", got, want)
	}
}

// What staticcheck finds arrives through go vet: a module with one mistake, of which the place and the text come out.
func TestStaticcheck(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go":   "package m\n\nimport \"regexp\"\n\nvar R = regexp.MustCompile(\"(\")\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool := filepath.Join(t.TempDir(), "lint")
	if out, err := execute(".", "go", "build", "-o", tool, "."); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	found, err := runGoVet(tool, folder, folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].path != "m.go" || found[0].line != 5 || !strings.HasPrefix(found[0].text, "SA1000: ") {
		t.Errorf("found %v, want SA1000 in m.go:5", found)
	}
}

func TestParseVet(t *testing.T) {
	found, err := parseVet("/tree",
		`{"example.com/m": {"SA1000": [{"posn": "/tree/a/m.go:5:3", "message": "one"}], "SA1001": [{"posn": "/tree/a/m.go:6:3", "message": "two"}]}}
{}
{"example.com/n": {"SA1019": [
  {"posn": "/tree/n.go:7:3", "message": "k8s.io/api/core/v1.Endpoints is deprecated: it is"},
  {"posn": "/tree/n.go:8:3", "message": "io/ioutil is deprecated: it is"}
]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range sortedOnce(found) {
		got = append(got, f.String())
	}
	want := []string{
		"a/m.go:5: staticcheck: SA1000: one", "a/m.go:6: staticcheck: SA1001: two",
		"n.go:8: staticcheck: SA1019: io/ioutil is deprecated: it is",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}

	if _, err := parseVet("/tree", `{"example.com/m": {"SA1000": {"error": "panicked"}}}`); err == nil {
		t.Error("an error of a check is nothing to be said")
	}
}
