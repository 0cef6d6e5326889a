package life

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const whole = `
controllers: [a-controller]
work:
  steps:
  - until:
    - {kind: Pod, count: 0}
  rest:
  - {kind: Pod, count: 0}
`

// What is wrong with a life is told with the file, the scenario, the step and the field.
func TestRead(t *testing.T) {
	scenario := func(text string) string {
		return whole + "scenarios:\n- name: s\n  rest: [{kind: Pod, count: 0}]\n" + text
	}

	for _, x := range []struct{ name, text, want string }{
		{"good", whole, ""},
		{"good scenario", scenario("  steps: [{delete: {kind: Pod, name: p}}]"), ""},
		{"unknown field", whole + "more: true\n", `unknown field "more"`},
		{"unknown field of the work", strings.Replace(whole, "  rest:", "  resst: []\n  rest:", 1),
			`unknown field "work.resst"`},
		{"other case", strings.Replace(whole, "controllers", "Controllers", 1), `unknown field "Controllers"`},
		{"twice", whole + "controllers: [b]\n", `key "controllers" already set in map`},
		{"no controllers", strings.Replace(whole, "[a-controller]", "[]", 1), "controllers: names none"},
		{"two verbs", scenario("  steps: [{delete: {kind: Pod}, until: [{kind: Pod}]}]"),
			"scenario s: step 1: does 2 things (delete and until): one step does one"},
		{"field of a step", scenario("  steps: [{until: [{kind: Pod}]}, {delete: {kind: Pod, grase: 1}}]"),
			`scenario s: step 2: unknown field "delete.grase"`},
		{"type of a field", scenario("  steps: [{delete: {kind: Pod, grace: soon}}]"),
			"scenario s: step 1: json: cannot unmarshal string into Go struct field Delete.delete.grace of type int64"},
		{"field of a condition", scenario("  steps: [{until: [{kind: Pod, event: {reason: R, massage: m}}]}]"),
			`scenario s: step 1: unknown field "until[0].event.massage"`},
		{"no kind", scenario("  steps: [{until: [{kind: Pod}, {name: p}]}]"),
			"scenario s: step 1: until[1]: condition.kind: is missing"},
		{"a name and a selector", scenario("  steps: [{delete: {kind: Pod, name: p, selector: a=b}}]"),
			"scenario s: step 1: delete: wants a name or a selector, not both"},
		{"two patches", scenario("  steps: [{patch: {kind: Pod, name: p, merge: {}, json: []}}]"),
			"scenario s: step 1: patch: wants one of merge, json and strategic, has 2"},
		{"propagation", scenario("  steps: [{delete: {kind: Pod, name: p, propagation: Slow}}]"),
			`scenario s: step 1: delete.propagation: "Slow" is not Background, Foreground or Orphan`},
		{"an object without a name", scenario("  steps: [{create: {objects: [{apiVersion: v1, kind: Pod}]}}]"),
			"scenario s: step 1: create.objects[0]: wants apiVersion, kind and metadata.name"},
		{"ago", scenario("  steps: [{end: {name: p, ago: long}}]"),
			`scenario s: step 1: end.ago: time: invalid duration "long"`},
		{"counts", scenario("  counts: differ\n  steps: [{delete: {kind: Pod}}]"),
			`scenario s: counts: "differ" is not "vary"`},
		{"before", scenario("  before: [{delete: {kind: Pod}}]\n  steps: [{delete: {kind: Pod}}]"),
			"scenario s: before: goes with a further file"},
		{"an order of one", scenario("  steps: [{until: [{order: [{verb: get, resource: pods}]}]}]"),
			"scenario s: step 1: until[0]: order: wants two requests at least"},
		{"apart", scenario("  steps: [{until: [{order: [{verb: get, resource: a}, {verb: get, resource: b, apart: far}]}]}]"),
			`until[0]: order[1]: request.apart: time: invalid duration "far"`},
		{"a request without a verb", scenario("  steps: [{until: [{request: {resource: pods}}]}]"),
			"until[0]: request: wants a verb and a resource"},
		{"whom to refuse", scenario("  steps: [{refuse: {kind: Pod}}]"), "scenario s: step 1: refuse.name: is missing"},
		{"whom to watch", scenario("  steps: [{watch: {ordered: true}}]"), "scenario s: step 1: watch.app: is missing"},
		{"a file that isn't there", scenario("  steps: [{create: {file: nothing.yaml}}]"), "nothing.yaml: no such file"},
		{"no steps", scenario(""), "scenario s: wants steps, and a rest"},
		{"rest", strings.Replace(whole, "  rest:\n  - {kind: Pod, count: 0}", "  rest:\n  - {kind: Pod, cuont: 0}", 1),
			`scenario work: rest[0]: unknown field "cuont"`},
		{"a name that is taken", scenario("  steps: [{delete: {kind: Pod}}]\n- name: s\n"),
			"scenarios[1].name: there are two called s"},
		{"a name that no namespace has", scenario("  steps: [{delete: {kind: Pod}}]\n- name: S_1\n"),
			`scenarios[1].name: "S_1" is no name of a namespace`},
		{"no row", scenario("  differences: [{what: x}]\n  steps: [{delete: {kind: Pod}}]"),
			"scenario s: differences[0]: wants"},
	} {
		t.Run(x.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "some", FileName)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := Read(path)
			switch {
			case x.want == "" && err != nil:
				t.Fatal(err)
			case x.want == "":
				if l.Plugin != "some" || len(l.Work.Steps) != 1 || len(l.Work.Rest) != 1 {
					t.Errorf("%+v", l)
				}
			case err == nil || !strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), path+": "):
				t.Errorf("%v\nwants %s", err, x.want)
			}
		})
	}
}

// A further file is of the kind that its name says; what comes before a manager is its own, and so are objects of a
// file.
func TestFurther(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "some")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}

	const steps = `
controllers: [a-controller]
metrics: [m]
work:
  before:
  - create: {file: objects.yaml}
  steps:
  - delete: {kind: Pod}
  - midway: true
  - delete: {kind: Pod}
  - delete: {kind: Pod}
  - midway: true
  rest:
  - {kind: Pod, count: 0}
`

	const objects = `{apiVersion: v1, kind: Pod, metadata: {name: a}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}}
`

	for name, text := range map[string]string{"life-alone.yaml": steps, "objects.yaml": objects, FileName: whole} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	all, err := All(filepath.Dir(folder))
	if err != nil {
		t.Fatal(err)
	}
	if kinds := Kinds(all); len(all) != 2 || len(kinds) != 1 || kinds[0] != "alone" || len(Of("", all)) != 1 {
		t.Fatalf("kinds %q of %d lives", kinds, len(all))
	}

	w := Of("alone", all)[0].Work
	if made := w.Before[0].Create.Objects; len(made) != 2 || made[1]["kind"] != "Pod" {
		t.Errorf("made before: %v", made)
	}
	if p := w.Parts(); len(p) != 3 || len(p[0]) != 1 || len(p[1]) != 2 || len(p[2]) != 0 {
		t.Errorf("parts: %v", p)
	}
}

// Each plugin of ours has a life, beside the others' or alone.
func TestAll(t *testing.T) {
	all, err := All("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob("../../plugins/*/module/main.go")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, l := range all {
		have[l.Plugin] = true
	}
	for _, m := range modules {
		if plugin := filepath.Base(filepath.Dir(filepath.Dir(m))); !have[plugin] {
			t.Errorf("plugins/%s has no %s", plugin, FileName)
		}
	}
	if len(modules) == 0 {
		t.Error("there are no plugins")
	}
}

func TestMatches(t *testing.T) {
	const object = `{name: web, size: 3, on: true, off: false, labels: {a: b}, list: [{type: A, n: 1}, {type: B, n: 2}]}`
	for _, x := range []struct {
		want string
		ok   bool
	}{
		{`{name: web, size: 3}`, true},
		{`{size: 4}`, false},
		{`{size: "3"}`, false},
		{`{on: true, off: false}`, true},
		{`{missing: 0, absent: false}`, true},
		{`{missing: 1}`, false},
		{`{missing: null}`, true},
		{`{name: null}`, false},
		{`{labels: {a: b}}`, true},
		{`{labels: {a: b, c: d}}`, false},
		{`{missing: {a: null}}`, true},
		{`{name: {a: b}}`, false},
		{`{list: [{type: B}, {type: A}]}`, true},
		{`{list: [{type: A, n: 2}]}`, false},
		{`{list: []}`, false},
		{`{missing: []}`, true},
		{`{name: "~ ^w.b$"}`, true},
		{`{name: "~ ^x"}`, false},
		{`{name: "~ ("}`, false},
		{`{missing: "~ ."}`, false},
	} {
		var want, got any
		for text, to := range map[string]*any{x.want: &want, object: &got} {
			b, err := yaml.YAMLToJSON([]byte(text))
			if err == nil {
				err = unmarshal(b, to)
			}
			if err != nil {
				t.Fatal(err)
			}
		}

		if why := Matches(want, got); (why == "") != x.ok {
			t.Errorf("%s: %q", x.want, why)
		}
	}
}

// What is by chance in an object is written otherwise, what isn't stays.
func TestNormal(t *testing.T) {
	n := normal{hashes: [][2]string{{"6d4f8bc9d7", "<web:1,1>"}}}
	for text, want := range map[string]string{
		"web-6d4f8bc9d7":                           "web-<web:1,1>",
		"web-6d4f8bc9d7-x2k9q":                     "web-<web:1,1>-*",
		"Created pod: web-x2k9q, then web-front":   "Created pod: web-*, then web-front",
		"uid 01234567-89ab-cdef-0123-456789abcdef": "uid UID",
		"at 2026-11-24T16:00:00Z":                  "at TIME",
		"10.1.2.3":                                 "IP",
		"node-0":                                   "NODE",
		"node-0 is gone":                           "node-0 is gone",
		"web-0":                                    "web-0",
	} {
		if got := n.normalText(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if n.fixed = true; n.normalText("node-0") != "node-0" {
		t.Error("a node that was fixed is another")
	}
}
