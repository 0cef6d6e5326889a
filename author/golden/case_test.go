package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/guest/guesttest"
	"github.com/windlass-dev/windlass/sdk"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// newPlugin returns one for replica sets that does what sync does.
func newPlugin(sync func(c *sdk.Call, rs *appsv1.ReplicaSet) error) *sdk.Plugin {
	sets := sdk.Key(appsv1.ReplicaSets).Fields("spec.replicas", "status")

	return &sdk.Plugin{Name: "test", Controllers: []*sdk.Controller{{
		Name:   "test-controller",
		Reads:  sdk.Views{sets},
		Writes: sdk.Writes{appsv1.ReplicaSets.Sub("status", "update"), corev1.ConfigMaps.Verbs("get", "create", "delete")},
		Sync: func(c *sdk.Call) error {
			rs, ok := sets.Get(c)
			if !ok {
				return nil
			}

			return sync(c, rs)
		},
	}}}
}

const set = `key: default/web
now: "2030-01-01T00:00:00Z"
objects:
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: default, name: web}, spec: {replicas: 1}}
`

// writeFile writes a file testdata/NAME into a folder of its own and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "testdata", name)
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}

	return file
}

// runText runs the only case of a text.
func runText(t *testing.T, p *sdk.Plugin, text string) (string, error) {
	t.Helper()
	cases, err := golden.ReadFile(writeFile(t, "topic.yaml", text))
	if err != nil {
		return "", err
	}
	out, _, err := cases[0].Run(guesttest.Native(p), true)

	return out, err
}

func configMap(name string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = "default", name

	return cm
}

// answers writes the status, creates two config maps one after the other, and a third one whatever happens.
func answers(c *sdk.Call, rs *appsv1.ReplicaSet) error {
	status := sdk.Clone(rs)
	status.Status.Replicas = 1
	c.Add(
		sdk.UpdateStatus(status),
		sdk.Sequence(sdk.Create(configMap("a")), sdk.Create(configMap("b"))),
		sdk.Create(configMap("c"), sdk.Always()),
	)

	return nil
}

// effectLines returns what became of the effects, without the objects.
func effectLines(out string) string {
	var lines []string
	for l := range strings.Lines(out) {
		l = strings.TrimRight(l, "\n")
		switch l := strings.TrimSpace(l); {
		case strings.Contains(l, "do: "), strings.HasPrefix(l, "failed:"), strings.HasPrefix(l, "skipped:"):
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(l, "- "), "do: "))
		}
	}

	return strings.Join(lines, "\n")
}

// Failures hit the answer's effects: the first one stops those after it, but for what is done in any case.
func TestAnswerFails(t *testing.T) {
	for _, x := range []struct{ name, failures, want string }{
		{"the first", "{effect: update, resource: apps/v1/replicasets, subresource: status, reason: Conflict}",
			"update apps/v1/replicasets/status default/web\nfailed: Conflict\n" +
				"sequence\ncreate v1/configmaps default/a\ncreate v1/configmaps default/b\nskipped: true\n" +
				"create v1/configmaps default/c"},
		{"a member", "{effect: create, resource: v1/configmaps, name: a, reason: Forbidden}",
			"update apps/v1/replicasets/status default/web\n" +
				"sequence\ncreate v1/configmaps default/a\nfailed: Forbidden\ncreate v1/configmaps default/b\nskipped: true\n" +
				"create v1/configmaps default/c"},
		{"the last", "{effect: create, resource: v1/configmaps, after: 2, reason: Forbidden}",
			"update apps/v1/replicasets/status default/web\n" +
				"sequence\ncreate v1/configmaps default/a\ncreate v1/configmaps default/b\n" +
				"create v1/configmaps default/c\nfailed: Forbidden"},
	} {
		t.Run(x.name, func(t *testing.T) {
			out, err := runText(t, newPlugin(answers), "case: one\n"+set+"failures: ["+x.failures+"]\n")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(x.want, effectLines(out)); d != "" {
				t.Errorf("-want +got:\n%s\n%s", d, out)
			}
		})
	}
}

// A case that has nothing and wants nothing says that it is meant so.
func TestNothingIsAsserted(t *testing.T) {
	const bare = "case: one\nkey: default/web\nnow: \"2030-01-01T00:00:00Z\"\n"
	for _, x := range []struct {
		text, out string
		fails     bool
	}{
		{bare, "{}\n", true},
		{bare + "settings: {a: b}\nattempt: 2\n", "{}\n", true},
		{bare + "gone: true\n", "{}\n", false},
		{bare, "requeueAfter: 5s\n", false},
		{"case: one\n" + set, "{}\n", false},
	} {
		cases, err := golden.ReadFile(writeFile(t, "topic.yaml", x.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := cases[0].Asserts(x.out); (err != nil) != x.fails ||
			x.fails && !strings.Contains(err.Error(), "topic.yaml:1: case one: it asserts nothing") {
			t.Errorf("%s\n%s: %v", x.text, x.out, err)
		}
	}
}

// An entry that the sync doesn't come to is an error that names it.
func TestUnused(t *testing.T) {
	reads := func(c *sdk.Call, rs *appsv1.ReplicaSet) error {
		_, _ = sdk.Get(c, corev1.ConfigMaps, "default", "read")
		return answers(c, rs)
	}

	for _, x := range []struct{ name, entries, says string }{
		{"another resource", "failures: [{effect: create, resource: v1/pods, reason: Forbidden}]",
			"failures[0] (create v1/pods): there was no such effect"},
		{"another name", "failures:\n- {effect: create, resource: v1/configmaps, name: a, reason: Forbidden}\n" +
			"- {effect: create, resource: v1/configmaps, name: d, reason: Forbidden}\n",
			"failures[1] (create v1/configmaps d): there was no such effect"},
		{"too late", "failures: [{effect: create, resource: v1/configmaps, after: 3, reason: Forbidden}]",
			"failures[0] (create v1/configmaps): there were only 3 such effects, and it begins after 3"},
		{"behind a failure", "failures:\n- {effect: create, resource: v1/configmaps, name: a, reason: Forbidden}\n" +
			"- {effect: create, resource: v1/configmaps, name: b, reason: Forbidden}\n",
			"failures[1] (create v1/configmaps b): there was no such effect"},
		{"live", "live:\n- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: read}}\n" +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: other}}\n",
			"live[1] (ConfigMap other): it wasn't read"},
		{"reads", "reads: {/apis/metrics.k8s.io/v1beta1/pods: {reason: NotFound}}",
			"reads[/apis/metrics.k8s.io/v1beta1/pods]: the path wasn't read"},
		{"scales", "scales: [{of: apps/v1/deployments web, replicas: 1}]",
			"scales[0] (apps/v1/deployments web): it wasn't asked for"},
		{"facts", "facts: {default/other: a=b}", "facts: none were asked for"},
	} {
		t.Run(x.name, func(t *testing.T) {
			out, err := runText(t, newPlugin(reads), "case: one\n"+set+x.entries+"\n")
			if err == nil || !strings.Contains(err.Error(), "\n  "+x.says) ||
				!strings.Contains(err.Error(), "topic.yaml:1: case one: ") {
				t.Errorf("%v\n%s", err, out)
			}
			if err != nil && strings.Count(err.Error(), "\n") != 1 {
				t.Errorf("it names what was used: %v", err)
			}
		})
	}
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v0, served: false, storage: false}
`

const thing = `key: default/web
now: "2030-01-01T00:00:00Z"
objects:
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: default, name: web}, spec: {replicas: 1}}
- {apiVersion: example.com/v1, kind: Thing, metadata: {namespace: default, name: a}}
`

// Kinds are those that the plugin's folder defines; a discovery takes their place.
func TestDefinitions(t *testing.T) {
	for _, x := range []struct{ name, text, says string }{
		{"defined", thing, ""},
		{"not served", strings.Replace(thing, "example.com/v1", "example.com/v0", 1),
			"example.com/v0 Thing is neither built in nor defined"},
		{"discovery says otherwise", thing + "discovery: {}\n", "example.com/v1 Thing is neither built in nor defined"},
		{"discovery has it", thing +
			"discovery: {resources: [{resource: example.com/v1/things, kind: Thing, namespaced: true}]}\n", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := writeFile(t, "topic.yaml", "case: one\n"+x.text)
			crd := filepath.Join(file, "..", "..", "crd")
			if err := os.Mkdir(crd, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(crd, "things.yaml"), []byte(definition), 0o600); err != nil {
				t.Fatal(err)
			}

			cases, err := golden.Cases(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = cases[0].Run(guesttest.Native(newPlugin(answers)), true)
			if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
				t.Errorf("%v, should say %q", err, x.says)
			}
		})
	}

	t.Run("broken", func(t *testing.T) {
		file := writeFile(t, "topic.yaml", "case: one\n"+thing)
		crd := filepath.Join(file, "..", "..", "crd")
		if err := os.Mkdir(crd, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(crd, "things.yaml"),
			[]byte(strings.Replace(definition, "plural: things", "", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := golden.Cases(filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), "things.yaml") ||
			!strings.Contains(err.Error(), "spec.names.plural") {
			t.Error(err)
		}
	})
}
