package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) string {
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
	file := write(t, "web.yaml", deployment)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	all, err := Run(t.Context(), "builtin:deployment", RunOptions{Files: []string{file}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if text := Plan(all); len(all) != 1 || !strings.Contains(text, "+ create apps/v1/replicasets default/web-") || !strings.Contains(text, "+  replicas: 2") {
		t.Errorf("one sync gives:\n%s", text)
	}
	all, err = Run(t.Context(), "builtin:deployment", RunOptions{Files: []string{file}, Now: now, Settle: true, With: []string{"builtin:replicaset"}})
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
		"scale.yaml": "case: up\nkey: default/web\nnow: \"2030-01-01T00:00:00Z\"\nobjects:\n- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: default, name: web, uid: u}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}\n",
		// With the finalizer of somebody who never takes it away the set can't go: a finding, though not the plugin's fault.
		"world.yaml": "objects:\n- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, finalizers: [example.com/stays]}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(cases, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases}); err == nil || !strings.Contains(err.Error(), "--update") {
		t.Errorf("a case that says nothing of what comes out: %v", err)
	}
	if _, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases, Update: true}); err != nil {
		t.Fatal(err)
	}
	r, err := Module(t.Context(), "builtin:replicaset", Options{Cases: cases, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 1 || r.Cases[0].Failed || r.Cases[0].Fuel == 0 || r.Cases[0].Memory == 0 {
		t.Errorf("the case: %+v", r.Cases)
	}
	if len(r.Findings) != 1 || r.Findings[0].Check != "finalizer" || !strings.Contains(r.Findings[0].Message, "example.com/stays") {
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
		_, err := Run(t.Context(), "builtin:deployment", RunOptions{Files: []string{write(t, "objects.yaml", x.text)}})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, should tell of %q", x.text, err, x.want)
		}
	}
	if _, err := Run(t.Context(), t.TempDir(), RunOptions{}); err == nil || !strings.Contains(err.Error(), "plugin build") {
		t.Errorf("a folder without a module: %v", err)
	}
}
