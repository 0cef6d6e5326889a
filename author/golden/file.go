package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	strictjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/host/schema"
)

// simulationFile has the options of the simulation that the world's file begins.
const simulationFile = "simulation.yaml"

// A folder's files, by their names: wakes.yaml and wakes-*.yaml have events, world.yaml and world-*.yaml are for
// simulations, and all other *.yaml have cases.
var (
	wakesFile = regexp.MustCompile(`^wakes(-.*)?\.yaml$`)
	worldFile = regexp.MustCompile(`^world(-.*)?\.yaml$`)
)

// ErrNoCases is that a folder has no cases.
var ErrNoCases = errors.New("no cases")

// Cases returns the cases of a folder, by their files' names and in each file's order.
func Cases(folder string) ([]*Case, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	defined, err := definitions(folder)
	if err != nil {
		return nil, err
	}

	var all []*Case
	for _, file := range files {
		if name := filepath.Base(file); wakesFile.MatchString(name) || worldFile.MatchString(name) || name == simulationFile {
			continue
		}
		cases, err := readCases(file, defined)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}

	if len(all) == 0 {
		return nil, fmt.Errorf("%w in %s: a case has a name, the objects, the key and the time, "+
			"and is a document of a file TOPIC.yaml", ErrNoCases, folder)
	}

	return all, nil
}

// ReadFile returns the cases of one file.
func ReadFile(file string) ([]*Case, error) {
	defined, err := definitions(filepath.Dir(file))
	if err != nil {
		return nil, err
	}

	return readCases(file, defined)
}

// Holds reports whether a text is a file of cases rather than of objects: each of its documents names a case or a key.
func Holds(text []byte) bool {
	documents, err := splitDocuments(text)
	if err != nil || len(documents) == 0 {
		return false
	}

	for i := range documents {
		if documents[i].fieldKey("case") == nil && documents[i].fieldKey("key") == nil &&
			documents[i].fieldKey("base") == nil {
			return false
		}
	}

	return true
}

// topic is the name of a file of cases.
func topic(file string) string { return strings.TrimSuffix(filepath.Base(file), ".yaml") }

func readCases(file string, defined []*schema.Resource) ([]*Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	cases, err := parseCases(file, text)
	for _, c := range cases {
		c.defined = defined
	}

	return cases, err
}

// parseCases reads the cases of a file's text.
func parseCases(file string, text []byte) ([]*Case, error) {
	documents, err := splitDocuments(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	var all []*Case
	lines := map[string]int{}
	shared, documents, err := splitBase(file, documents)
	if err != nil {
		return nil, err
	}
	for i := range documents {
		c, err := documents[i].readCase(file, shared)
		if err != nil {
			return nil, err
		}
		if first, twice := lines[c.Name]; twice {
			return nil, c.errorf("there is another case of this name in line %d: names are unique in a file", first)
		}
		lines[c.Name] = c.Line
		all = append(all, c)
	}

	return all, nil
}

// splitBase returns what the first document of a file says that its cases share, nil where it is a case, and the cases'
// documents.
func splitBase(file string, documents []document) (*base, []document, error) {
	if len(documents) == 0 || documents[0].fieldKey("base") == nil {
		return nil, documents, nil
	}
	b, err := documents[0].readBase()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, documents[1:], nil
}

// document is one of a file's, which are separated by lines of ---.
type document struct {
	text       []byte // all of the file
	begin, end int    // of the document in it
	line       int    // the number of its first line
	root       *yaml.Node
}

var separator = regexp.MustCompile(`^---[ \t]*(#.*)?$`)

// splitDocuments returns a text's documents, those aside that have nothing but comments in them.
func splitDocuments(text []byte) (all []document, err error) {
	at, line := 0, 0
	d := document{text: text, line: 1}
	finish := func(end int) error {
		d.end = end
		root, err := parseMapping(d.paddedText(d.end))
		if err == nil && root != nil {
			d.root = root
			all = append(all, d)
		}

		return err
	}

	for l := range bytes.Lines(text) {
		line++
		from := at
		at += len(l)
		switch l := bytes.TrimRight(l, "\r\n"); {
		case separator.Match(l):
			if err := finish(from); err != nil {
				return nil, err
			}
			d = document{text: text, begin: at, line: line + 1}
		case bytes.HasPrefix(l, []byte("--- ")) || string(l) == "...":
			return nil, fmt.Errorf("line %d: between cases is a line of --- with nothing else", line)
		}
	}

	return all, finish(at)
}

// paddedText returns the document's text up to an offset, at the lines that it has in the file.
func (d *document) paddedText(end int) []byte {
	return append(bytes.Repeat([]byte("\n"), d.line-1), d.text[d.begin:end]...)
}

// parseMapping returns the mapping that a document is, nil where it is empty.
func parseMapping(text []byte) (*yaml.Node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	if n.Kind == 0 || len(n.Content) == 1 && n.Content[0].Tag == "!!null" {
		return nil, nil
	}
	if root := n.Content[0]; root.Kind == yaml.MappingNode {
		return root, nil
	}

	return nil, fmt.Errorf("line %d: this is no case: begin with \"case: NAME\"", n.Content[0].Line)
}

// fieldKey returns the key of a field of the case, nil where there is none.
func (d *document) fieldKey(name string) *yaml.Node {
	for i := 0; i < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == name {
			return d.root.Content[i]
		}
	}

	return nil
}

// readCase reads the case.
func (d *document) readCase(file string, shared *base) (*Case, error) {
	c := &Case{File: file, Line: d.root.Line}
	if named := d.fieldKey("case"); named != nil {
		c.Line = named.Line
	}

	j, err := kyaml.YAMLToJSONStrict(d.paddedText(d.end))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if j, err = d.keepName(j); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	strict, err := strictjson.UnmarshalStrict(j, c)
	for _, e := range strict {
		err = errors.Join(err, d.located(e))
	}
	if err == nil {
		err = c.takeBase(shared)
	}
	if err == nil {
		err = c.validate()
	}
	if err == nil {
		err = d.wantIsLast()
	}
	if err != nil {
		return nil, c.errorf("%w", err)
	}

	return c, nil
}

// keepName returns the case with its name as it is written: off is a name, too, where YAML's old rules make false of
// it.
func (d *document) keepName(j []byte) ([]byte, error) {
	i := slices.IndexFunc(d.root.Content, func(n *yaml.Node) bool { return n == d.fieldKey("case") })
	if i < 0 || d.root.Content[i+1].Kind != yaml.ScalarNode {
		return j, nil
	}

	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(j, &fields); err != nil {
		return nil, err
	}
	name, err := json.Marshal(d.root.Content[i+1].Value)
	if err != nil {
		return nil, err
	}
	fields["case"] = name

	return json.Marshal(fields)
}

var fieldPath = regexp.MustCompile(`"(.+)"`)

// located adds the line to an error about a field that it names by its path.
func (d *document) located(err error) error {
	m := fieldPath.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}

	at := d.root
	steps := strings.FieldsFunc(m[1], func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	line := 0
	for _, step := range steps {
		var next *yaml.Node
		switch at.Kind {
		case yaml.SequenceNode:
			for i, x := range at.Content {
				if fmt.Sprint(i) == step {
					next, line = x, x.Line
				}
			}
		case yaml.MappingNode:
			for i := 0; i < len(at.Content); i += 2 {
				if at.Content[i].Value == step {
					next, line = at.Content[i+1], at.Content[i].Line
				}
			}
		}
		if next == nil {
			break
		}
		at = next
	}
	if line == 0 {
		return err
	}

	return fmt.Errorf("line %d: %w", line, err)
}

// wantIsLast returns an error where something follows the document's want.
func (d *document) wantIsLast() error {
	fields := d.root.Content
	if want := d.fieldKey("want"); want != nil && want != fields[len(fields)-2] {
		return fmt.Errorf("line %d: want stands at the end of its case: move %s before it",
			want.Line, fields[len(fields)-2].Value)
	}

	return nil
}

// Update writes what came out into the case's file, in place of what its want says, and leaves all else as it is.
func (c *Case) Update(out string) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	documents, err := splitDocuments(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}

	shared, documents, err := splitBase(c.File, documents)
	if err != nil {
		return err
	}
	for i := range documents {
		old, err := documents[i].readCase(c.File, shared)
		if err != nil {
			return err
		}
		if old.Name != c.Name {
			continue
		}
		if wanted, err := old.Wanted(); err == nil && wanted == out {
			return nil // perhaps in other words, or with comments
		}
		changed := documents[i].replaceWant(out)
		if err := onlyWant(c, text, changed, out); err != nil {
			return err
		}

		return replace(c.File, changed)
	}

	return c.errorf("it isn't in its file any more")
}

// replaceWant returns the file's text with another want in the document.
func (d *document) replaceWant(out string) []byte {
	from, to := d.begin, d.begin // of the old one
	line, at := d.line, d.begin
	key := d.fieldKey("want")
	for l := range bytes.Lines(d.text[d.begin:d.end]) {
		if key != nil && line == key.Line {
			from = at
		}
		line++
		at += len(l)
		if trimmed := bytes.TrimSpace(l); len(trimmed) > 0 && l[0] != '#' {
			to = at
		}
	}
	if key == nil {
		from = to
	}

	var b bytes.Buffer
	b.Write(d.text[:from])
	if from > 0 && d.text[from-1] != '\n' {
		b.WriteByte('\n')
	}
	if out == "{}\n" {
		b.WriteString("want: {}\n")
	} else {
		b.WriteString("want:\n")
		for l := range strings.Lines(out) {
			if strings.TrimSpace(l) != "" {
				l = "  " + l
			}
			b.WriteString(l)
		}
	}
	b.Write(d.text[to:])

	return b.Bytes()
}

// onlyWant checks that a file has the same cases as before but for one's want: some layouts (a document in braces, a
// text that ends in blank lines) can't be added to.
func onlyWant(c *Case, before, after []byte, out string) error {
	old, err := parseCases(c.File, before)
	if err != nil {
		return err
	}
	changed, err := parseCases(c.File, after)

	same := err == nil && len(old) == len(changed)
	for i := 0; same && i < len(old); i++ {
		a, b := *old[i], *changed[i]
		a.Line, b.Line = 0, 0
		if a.Name == c.Name {
			wanted, err := b.Wanted()
			same = err == nil && wanted == out
			a.Want, b.Want = nil, nil
		}
		same = same && reflect.DeepEqual(a, b)
	}
	if !same {
		return c.errorf("the output can't be written in the case's layout: write the case in plain lines, and \"want: {}\" " +
			"at its end")
	}

	return nil
}

// replace writes a file in one step: an author's cases are in it.
func replace(file string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".windlass-golden-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())

	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close()); err != nil {
		return err
	}

	return os.Rename(f.Name(), file)
}
