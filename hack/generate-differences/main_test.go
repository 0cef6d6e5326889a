package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const host = `
- where: deletes
  windlass: carry the UID
  why: >-
    a lost answer
    can be repeated
`

// makeRepository makes a repository with the host's differences and one plugin's.
func makeRepository(t *testing.T, plugin string) string {
	t.Helper()
	root := t.TempDir()
	for file, text := range map[string]string{"docs/differences/host.yaml": host, "plugins/job/differences.yaml": plugin} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPage(t *testing.T) {
	got, err := generatePage(makeRepository(t, "- {where: 'Job: a|b', native: x, windlass: other, why: z}\n"))
	if err != nil {
		t.Fatal(err)
	}

	rest := string(got)
	for _, want := range []string{
		"\n## All controllers, and the manager itself\n",
		"\n| deletes |  | carry the UID | a lost answer can be repeated |\n",
		"\n## job\n", "\n| Job: a\\|b | x | other | z |\n",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("no %q where it belongs in\n%s", want, got)
		}
		rest = after
	}
}

func TestRefused(t *testing.T) {
	for plugin, want := range map[string]string{
		"- {where: deletes, windlass: y, why: z}":       `"deletes" is in `,
		"- {where: a, windlass: y}":                     `number 1 ("a") has no why`,
		"- {where: a, native: x, why: z}":               `has no windlass`,
		"- {windlass: y, why: z}":                       `has no where`,
		"- {where: a, windlass: y, why: z, because: z}": "because",
	} {
		if _, err := generatePage(makeRepository(t, plugin)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), filepath.Join("plugins", "job", "differences.yaml")) {
			t.Errorf("%s: %v", plugin, err)
		}
	}
}
