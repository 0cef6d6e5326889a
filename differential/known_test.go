package differential

import (
	"os"
	"strings"
	"testing"
)

// Each rule names a row that the page of differences has, or says that it is chance.
func TestRulesHaveRows(t *testing.T) {
	page, err := os.ReadFile("../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseKnown(knownFile)
	if err != nil {
		t.Fatal(err)
	}

	for i, x := range all {
		if x.Row != "" && !strings.Contains(string(page), "\n| "+x.Row) {
			t.Errorf("entry %d, on %s: no row of docs/differences.md begins with %q", i+1, x.Controller, x.Row)
		}
	}
}

func TestRuleRefused(t *testing.T) {
	const rule = "- {controller: c, kind: sync, match: x, cause: y"
	for file, want := range map[string]string{
		rule + ", row: z}":                        "",
		rule + ", chance: true}":                  "",
		rule + "}":                                "entry 1: either",
		rule + ", row: ''}":                       "entry 1: either",
		rule + ", row: z, chance: true}":          "entry 1: either",
		rule + ", row: z}\n" + rule + "}":         "entry 2: either",
		rule + ", row: z, deed: '('}":             "missing closing )",
		rule + ", row: z, because: y}":            "because",
		"- {controller: c, kind: sync, match: x}": "must be set",
	} {
		switch _, err := parseKnown([]byte(file)); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", file, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, should be refused for: %s", file, err, want)
		}
	}
}
