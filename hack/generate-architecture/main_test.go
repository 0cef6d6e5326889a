package main

import (
	"strings"
	"testing"
)

func TestTheTableIsComplete(t *testing.T) {
	packages := imports{
		"a": {"b", "c", "fmt", "k8s.io/client-go/rest", "k8s.io/api/core/v1"}, "b": {"c"}, "c": nil,
		"d/x": {"a"}, "d/y": {"d/x"}, "test/e": {"a"},
	}
	const rest = "\n\nThe end.\n"
	table := func(rows ...string) string { return "Begin.\n" + header + strings.Join(rows, "\n") + rest }

	got, err := withImports(table("| `a` | first | old |", "| `b`, `c` | more | |", "| `d/...` | tree | |"), packages)
	want := table("| `a` | first | `b`, client-go |", "| `b`, `c` | more | |", "| `d/...` | tree | `a` |")
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}

	for text, says := range map[string]string{
		table("| `a` | first | |", "| `b` | more | |", "| `d/...` | tree | |"):    "package c is in no row",
		table("| `a`, `b`, `c`, `d/...` | first | |", "| `gone` | not there | |"): "row | `gone`: there is no such package",
		"No table.":  "there is no table",
		table("`a`"): "no two columns",
	} {
		if _, err := withImports(text, packages); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, should say %q", err, says)
		}
	}
}
