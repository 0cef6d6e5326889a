package golden_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/author/golden"
)

const shared = `controller: pods
key: default/a
now: "2030-01-01T00:00:00Z"
settings: {mode: calm}
base:
- kind: Pod
  metadata: {namespace: default, name: a, generation: 9007199254740993}
  spec: {nodeName: one, containers: [{name: main}]}
- like: Pod a
  metadata: {name: b}
  spec: {nodeName: null}
---
`

// A case has what its file's base has, but for what it says otherwise; other cases see nothing of that.
func TestBase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "topic.yaml")
	text := shared + `case: other
key: default/b
settings: {}
change:
  Pod a: {spec: {containers: [{name: other}]}}
without: [Pod default/b]
objects:
- {like: Pod a, metadata: {name: c}}
- {like: Pod c, metadata: {generation: null}, kind: Job}
live:
- {like: Pod c, spec: {nodeName: two}}
want: {}
---
case: plain
want: {}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cases, err := golden.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	got := []string{}
	for _, c := range cases {
		got = append(got, strings.Join([]string{c.Name, c.Controller, c.Key, c.Now.Format("2006"), c.Settings["mode"]}, " "))
		for _, o := range append(c.Objects, c.Live...) {
			b, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(b))
		}
	}

	const big = "9007199254740993" // more than a float64 holds
	want := []string{
		"other pods default/b 2030 ",
		`{"kind":"Pod","metadata":{"generation":` + big + `,"name":"a","namespace":"default"},` +
			`"spec":{"containers":[{"name":"other"}],"nodeName":"one"}}`,
		`{"kind":"Pod","metadata":{"generation":` + big + `,"name":"c","namespace":"default"},` +
			`"spec":{"containers":[{"name":"other"}],"nodeName":"one"}}`,
		`{"kind":"Job","metadata":{"name":"c","namespace":"default"},` +
			`"spec":{"containers":[{"name":"other"}],"nodeName":"one"}}`,
		`{"kind":"Pod","metadata":{"generation":` + big + `,"name":"c","namespace":"default"},` +
			`"spec":{"containers":[{"name":"other"}],"nodeName":"two"}}`,
		"plain pods default/a 2030 calm",
		`{"kind":"Pod","metadata":{"generation":` + big + `,"name":"a","namespace":"default"},` +
			`"spec":{"containers":[{"name":"main"}],"nodeName":"one"}}`,
		`{"kind":"Pod","metadata":{"generation":` + big + `,"name":"b","namespace":"default"},` +
			`"spec":{"containers":[{"name":"main"}]}}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What can't be found in a base is said with its line, and what there is.
func TestBadBases(t *testing.T) {
	for text, says := range map[string]string{
		shared + "case: a\nchange: {Pod c: {spec: null}}\n": `change: there is no "Pod c" here: there are Pod default/a, ` +
			`Pod default/b`,
		shared + "case: a\nwithout: [Job a]\n":                        `without: there is no "Job a" here`,
		shared + "case: a\nobjects: [{like: Pod d}]\n":                `objects[0]: like: there is no "Pod d" here`,
		shared + "case: a\nwithout: [Pod a]\nlive: [{like: Pod a}]\n": `live[0]: like: there is no "Pod a" here`,
		shared + "case: a\nobjects: [{like: Pod a, metadata: {namespace: two}}, {like: Pod a}]\n": `objects[1]: like: ` +
			`"Pod a" may be Pod default/a or Pod two/a: write the namespace before the name`,
		"base: []\nobjects: []\n---\ncase: a\n": `unknown field "objects"`,
		"base: []\n---\nbase: []\n":             `unknown field "base"`,
	} {
		file := filepath.Join(t.TempDir(), "topic.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := golden.ReadFile(file); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "topic.yaml") {
			t.Errorf("%s\n%v, should say %s", text, err, says)
		}
	}
}
