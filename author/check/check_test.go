package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func writeTempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`

// Syncs run offline, one of each key or until nothing changes.
func TestRun(t *testing.T) {
	file := writeTempFile(t, "web.yaml", deployment)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	all, err := Run(t.Context(), "builtin:deployment", RunOptions{Files: []string{file}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if text := Plan(all); len(all) != 1 || !strings.Contains(text, "+ create apps/v1/replicasets default/web-") ||
		!strings.Contains(text, "+  replicas: 2") {
		t.Errorf("one sync gives:\n%s", text)
	}
	all, err = Run(t.Context(), "builtin:deployment", RunOptions{Files: []string{file}, Now: now, Settle: true,
		With: []string{"builtin:replicaset"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := Plan(all); !strings.Contains(text, "+  availableReplicas: 2") {
		t.Errorf("when all has settled there are no two replicas:\n%s", text)
	}
}

// A module is tested on its cases and in its world; what is wrong is told, and runs again from its file.
func TestModule(t *testing.T) {
	cases := t.TempDir()
	for name, text := range map[string]string{
		"scale.yaml": "case: up\ncontroller: replicaset-controller\nkey: default/web\nnow: \"2030-01-01T00:00:00Z\"\nobjects:\n- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: default, name: web, uid: u}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}\n",
		// With the finalizer of somebody who never takes it away the set can't go: a finding, though not the plugin's fault.
		"world.yaml": "objects:\n- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, finalizers: [example.com/stays]}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(cases, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases}); err == nil ||
		!strings.Contains(err.Error(), "--update") {
		t.Errorf("a case that says nothing of what comes out: %v", err)
	}

	if _, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases, Update: true}); err != nil {
		t.Fatal(err)
	}
	wakes := "controller: replicaset-controller\nobjects:\n- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: default, name: web}, spec: {replicas: 1, selector: {matchLabels: {a: b}}}}\n" +
		"events:\n- {what: right, of: ReplicaSet web, change: {spec: {replicas: 2}}, wakes: [default/web]}\n- {what: wrong, of: ReplicaSet web, change: {spec: {replicas: 3}}, wakes: []}\n"
	if err := os.WriteFile(filepath.Join(cases, "wakes-sets.yaml"), []byte(wakes), 0o600); err != nil {
		t.Fatal(err)
	}

	woken, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases, Run: "wakes-sets"})
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]Event{{Name: "wakes-sets/right"}, {Name: "wakes-sets/wrong", Failed: true}},
		woken.Wakes); d != "" || len(woken.Cases) > 0 ||
		len(woken.Findings) != 1 || !strings.Contains(woken.Text(), "wakes [default/web], should wake []") {
		t.Errorf("%s\n%s", d, woken.Text())
	}

	if err := os.Remove(filepath.Join(cases, "wakes-sets.yaml")); err != nil {
		t.Fatal(err)
	}
	r, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 1 || r.Cases[0].Failed || r.Cases[0].Fuel == 0 || r.Cases[0].Memory == 0 {
		t.Errorf("the case: %+v", r.Cases)
	}

	if len(r.Findings) != 1 || r.Findings[0].Check != "finalizer" ||
		!strings.Contains(r.Findings[0].Message, "example.com/stays") {
		t.Fatalf("findings: %s", r.Text())
	}

	again, err := Module(t.Context(), "builtin:replicaset", Options{Replay: r.Findings[0].File})
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Findings) != 1 || again.Findings[0].Message != r.Findings[0].Message {
		t.Errorf("run again it gives: %s", again.Text())
	}
}

// A file of golden cases is run as it is, failures and all.
func TestRunCases(t *testing.T) {
	set := `controller: replicaset-controller
key: default/web
now: "2030-01-01T00:00:00Z"
objects:
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {namespace: default, name: web, uid: u}
  spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}
`
	file := writeTempFile(t, "set.yaml", "case: up\n"+set+"---\ncase: fails\n"+set+
		"failures: [{effect: create, resource: v1/pods, reason: Forbidden}]\n---\ncase: gone\n"+strings.Replace(set,
		"default/web", "default/gone", 1))
	all, ok, err := Cases(t.Context(), "builtin:replicaset", RunOptions{Files: []string{file}})
	if err != nil || !ok || len(all) != 3 {
		t.Fatalf("%d cases, %v: %v", len(all), ok, err)
	}
	text, err := CasesText(all)
	if err != nil {
		t.Fatal(err)
	}
	up, rest, _ := strings.Cut(text, "case set/fails, key default/web\n")
	fails, gone, _ := strings.Cut(rest, "case set/gone, key default/gone\n")
	if !strings.HasPrefix(up, "case set/up, key default/web\n") || !strings.Contains(up, "create v1/pods") ||
		strings.Contains(up, "Forbidden") ||
		!strings.Contains(fails, "failed: Forbidden") || gone != "  nothing to do\n" {
		t.Errorf("they do:\n%s", text)
	}

	if all, _, err := Cases(t.Context(), "builtin:replicaset",
		RunOptions{Files: []string{file}, Key: "default/gone"}); err != nil || len(all) != 1 {
		t.Errorf("of one key there are %d: %v", len(all), err)
	}
	if _, _, err := Cases(t.Context(), "builtin:replicaset",
		RunOptions{Files: []string{file}, Settle: true}); err == nil || !strings.Contains(err.Error(), "--settle") {
		t.Errorf("--settle: %v", err)
	}
	objects := writeTempFile(t, "web.yaml", deployment)
	if _, ok, err := Cases(t.Context(), "builtin:deployment", RunOptions{Files: []string{objects}}); ok || err != nil {
		t.Errorf("objects are taken for cases: %v", err)
	}
}

// Bad input is told by file and place.
func TestErrors(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"", "no key"},
		{"a: [", "document 1"},
		{"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n", "CustomResourceDefinition"},
		{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {}\n", "metadata.name"},
		{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: many}\n", "Deployment default/a"},
		{"apiVersion: v1\nkind: Pod\nmetadata: {name: a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: none}]}\n", "put the owner first"},
	} {
		_, err := Run(t.Context(), "builtin:deployment", RunOptions{Files: []string{writeTempFile(t, "objects.yaml",
			x.text)}})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, should tell of %q", x.text, err, x.want)
		}
	}
	if _, err := Run(t.Context(), t.TempDir(), RunOptions{}); err == nil ||
		!strings.Contains(err.Error(), "plugin build") {
		t.Errorf("a folder without a module: %v", err)
	}
}
