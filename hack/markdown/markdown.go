// Package markdown writes what pages that are generated have in them.
package markdown

import "strings"

// Cell returns a text as a cell of a table has it: in one line, without the mark between cells.
func Cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
