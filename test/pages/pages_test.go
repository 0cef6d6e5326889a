package pages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	for _, x := range []struct {
		page, printed string
		same          bool
	}{
		{"a 12ms\n", "a   3s\n", true},
		{"a\n", "b\n", false},
		{"a\n", "a\nb\n", false},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\n", "a\n", true},
		{"...\nd\n", "a\nb\n", false},
		{"x@sha256:2c26b46b... is here\n", "x@sha256:99aabbccddee is here\n", true},
		{"begins ... ends\n", "begins and goes on\n", false},
		{"\na\n\n", "a\n", true},
	} {
		if got := Same(x.page, x.printed); got != x.same {
			t.Errorf("Same(%q, %q) is %v", x.page, x.printed, got)
		}
	}
}

const page = `# A page

Text.

    $ first
    one
    two

    three
    $ second \
      --flag

Between. Write ` + "`a.txt`" + `:

<!-- file a.txt -->
` + "```" + `
content
` + "```" + `

    $ third
    3
    no command
`

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}

	var did []string
	r := Reader{
		Run: func(c string) string {
			did = append(did, c)
			return map[string]string{"first": "one\ntwo\n\nthree\n", "third": "4\nno command\n"}[c]
		},
		Looks: func(string) bool { return false },
		Write: func(name, text string) { did = append(did, name+"="+text) },
	}

	if n := Follow(t, path, r); n != 3 {
		t.Errorf("%d commands", n)
	}
	if got, want := strings.Join(did, "|"), "first|second  --flag|a.txt=content\n|third"; got != want {
		t.Errorf("did %q, want %q", got, want)
	}
	r.Update = true
	run := r.Run
	r.Run = func(c string) string { return strings.ReplaceAll(run(c), "three", "none") }
	Follow(t, path, r)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if want := strings.Replace(page, "    three", "    none", 1); string(b) != want {
		t.Errorf("updated:\n%s\nwant\n%s", b, want)
	}
}

func TestFilesAreNamed(t *testing.T) {
	for page, named := range map[string]bool{
		"Write `a.txt`:\n\n<!-- file a.txt -->\n```\n```\n":                true,
		"Write this:\n\n<!-- file a.txt -->\n```\n```\n":                   false,
		"<!-- `a.txt` -->\n<!-- file a.txt -->\n```\n```\n":                false,
		"Write this:\n\n<!-- file a.txt -->\n```\n```\n\nIt is `a.txt`.\n": false,
	} {
		files := 0
		for _, s := range parseSteps(page) {
			if s.file == "" {
				continue
			}
			files++
			if s.named != named {
				t.Errorf("%q: the file is named: %v, want %v", page, s.named, named)
			}
		}
		if files != 1 {
			t.Errorf("%q has %d files", page, files)
		}
	}
}
