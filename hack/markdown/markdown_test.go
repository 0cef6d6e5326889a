package markdown

import "testing"

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		" in one\n\tline\n":     "in one line",
		"text|json, or a || b ": `text\|json, or a \|\| b`,
	} {
		if got := Cell(text); got != want {
			t.Errorf("Cell(%q) is %q, want %q", text, got, want)
		}
	}
}
