package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/config"
)

const root = "../.."

// block is a piece of code in a page.
type block struct {
	page, language, mark string // mark is the comment above it
	line                 int
	text                 string
}

var mark = regexp.MustCompile(`^<!-- (.*) -->$`)

// codeBlocks returns the fenced blocks of a page, and those that are indented, which have no language.
func codeBlocks(t *testing.T, page string) (all []block) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(string(b), "\n")
	above := ""
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		x := block{page: page, line: i + 1, mark: above}
		switch {
		case strings.HasPrefix(line, "```"):
			x.language = strings.TrimPrefix(line, "```")
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				x.text += lines[i] + "\n"
			}
		case strings.HasPrefix(line, "    ") && (i == 0 || lines[i-1] == ""):
			for ; i < len(lines) && (strings.HasPrefix(lines[i], "    ") ||
				lines[i] == "" && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ")); i++ {
				x.text += strings.TrimPrefix(lines[i], "    ") + "\n"
			}
			i--
		default:
			above = ""
			if m := mark.FindStringSubmatch(line); m != nil {
				above = m[1]
			}
			continue
		}
		above = ""
		all = append(all, x)
	}

	return all
}

// documented are the pages whose code is checked.
func documented(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	for i := range all {
		path, err := filepath.Abs(all[i])
		if err != nil {
			t.Fatal(err)
		}
		all[i] = path
	}
	return all
}

// Code in pages is code of the repository, which is compiled and tested there: "<!-- in FILE -->" says where. Or the
// page's commands use it as a file, and fail if it is wrong.
func TestCode(t *testing.T) {
	checked := 0
	for _, page := range documented(t) {
		for _, b := range codeBlocks(t, page) {
			file, in := strings.CutPrefix(b.mark, "in ")
			switch {
			case in:
				checked++
				source, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					t.Errorf("%s:%d: %v", b.page, b.line, err)
					continue
				}
				for part := range strings.SplitSeq(b.text, "\n\n") { // what lies between isn't always shown
					if !strings.Contains(squeeze(string(source)), squeeze(part)) {
						t.Errorf("%s:%d: this isn't in %s:\n%s", b.page, b.line, file, part)
					}
				}
			case strings.HasPrefix(b.mark, "file "), strings.HasPrefix(b.mark, "missing"):
			case b.language == "go", b.language == "c", b.language == "wat", b.language == "python", b.language == "proto":
				t.Errorf("%s:%d: code in %s that nobody compiles: write <!-- in FILE --> above it, and have it there",
					b.page, b.line, b.language)
			}
		}
	}

	if checked < 5 {
		t.Errorf("only %d pieces of code were checked", checked)
	}
}

// squeeze takes out white space, by which a piece may differ.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

var member = regexp.MustCompile(`^(?:#[^\n]*\n)*([a-zA-Z]+):`)

// What pages show of the configuration is accepted: whole files, and pieces that begin with one of its fields.
func TestConfigurations(t *testing.T) {
	for _, x := range shownConfigurations(t) {
		if _, err := config.Load(x.write(t, nil)); err != nil {
			t.Errorf("%s:%d: %v", x.page, x.line, err)
		}
	}
}

// shownConfigurations returns the pages' blocks that are configurations, each as a whole file.
func shownConfigurations(t *testing.T) (all []block) {
	t.Helper()
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Configuration]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = true
	}

	for _, page := range documented(t) {
		for _, b := range codeBlocks(t, page) {
			m := member.FindStringSubmatch(b.text)
			switch {
			case m == nil || !fields[m[1]] || b.language != "" && b.language != "yaml":
				continue
			case m[1] != "apiVersion":
				b.text = "apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\n" + b.text
			case !strings.Contains(b.text, "kind: "+config.Kind):
				continue // another kind's object
			}
			all = append(all, b)
		}
	}

	if len(all) < 5 {
		t.Errorf("only %d configurations were found", len(all))
	}
	return all
}

var etcFile = regexp.MustCompile(`/etc/windlass/[a-z.-]+`)

// write writes a configuration into a folder where all is that it names, and returns its path. contents are those of
// files that it has in /etc/windlass, by the ends of their names.
func (b *block) write(t *testing.T, contents map[string]string) (file string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("plugins", 0o700); err != nil {
		t.Fatal(err)
	}

	for _, named := range etcFile.FindAllString(b.text, -1) {
		content := ""
		for end, c := range contents {
			if strings.HasSuffix(named, end) {
				content = c
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(named)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	file = filepath.Join(dir, "windlass.yaml")
	text := strings.ReplaceAll(b.text, "/etc/windlass/", dir+"/")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// docs/abi.md has each message of abi.proto with each of its fields.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/abi.md"))
	if err != nil {
		t.Fatal(err)
	}

	proto, err := os.ReadFile(filepath.Join(root, "abi/abi.proto"))
	if err != nil {
		t.Fatal(err)
	}

	field := regexp.MustCompile(`^  (?:repeated )?\w+ (\w+) = \d+;`)
	kind := regexp.MustCompile(`^  ([A-Z_]+) = ([1-9]\d*);`)
	fields, kinds := 0, 0
	for l := range strings.Lines(string(proto)) {
		if m := field.FindStringSubmatch(l); m != nil {
			if fields++; !bytes.Contains(page, []byte("`"+m[1]+"`")) {
				t.Errorf("docs/abi.md says nothing of the field `%s`", m[1])
			}
		}
		if m := kind.FindStringSubmatch(l); m != nil {
			if kinds++; !bytes.Contains(page, []byte("| `"+m[1]+"` | "+m[2]+" |")) {
				t.Errorf("docs/abi.md has no row for the kind `%s`, %s", m[1], m[2])
			}
		}
	}

	if fields < 60 || kinds < 15 {
		t.Errorf("abi.proto has %d fields and %d kinds?", fields, kinds)
	}
}
