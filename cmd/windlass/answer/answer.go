// Package answer is how commands answer: in which formats, with which exit code, and what they can't make sense of.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/windlass-dev/windlass/host/printable"
)

// Formats are the values of --output, by command. A test has each of them.
var Formats = map[string][]string{
	"get controllers": {"wide", "yaml", "json", "name"},
	"get plugins":     {"wide", "yaml", "json", "name"},
	"get swaps":       {"wide", "yaml", "json"},
	"get keys":        {"wide", "yaml", "json"},
	"get syncs":       {"wide", "yaml", "json"},
	"get differences": {"wide", "yaml", "json"},
	"get sync":        {"yaml", "json", "golden"},
	"status":          {"yaml", "json"},
	"plugin inspect":  {"yaml", "json"},
	"plugin bench":    {"text", "yaml", "json"},
	"plugin test":     {"text", "yaml", "json"},
	"plugin run":      {"text", "yaml", "json"},
	"explain":         {"text", "yaml", "json"},
	"replay":          {"text", "yaml", "json"},
}

// Print writes a value, as JSON where that is the format, and as YAML where it is another one.
func Print(w io.Writer, format string, v any) error {
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false) // "(i32)->i32" is for people to read
		e.SetIndent("", "  ")
		return e.Encode(v)
	}

	b, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// ExitError ends the program with a code of its own, without a word where Err is nil.
type ExitError struct {
	Code int
	Err  error
}

// Exit returns an ExitError.
func Exit(code int, err error) error { return &ExitError{Code: code, Err: err} }

// Error is Err's.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// Execute runs the command that the arguments name, says on stderr in one line what is wrong, and returns the exit
// code.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}

	if text := strings.ReplaceAll(err.Error(), "\n", "; "); text != "" {
		fmt.Fprintln(os.Stderr, "windlass: "+text)
	}
	if coded := (*ExitError)(nil); errors.As(err, &coded) {
		return coded.Code
	}
	return 1
}

// LineMax is how long a text may be in a table, in characters, where it isn't to be wide.
const LineMax = 100

// Line makes a text from a cluster fit for one line of a terminal, of at most so many of its characters and an
// ellipsis.
func Line(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if all := []rune(s); len(all) > most {
		s = string(all[:most]) + "…"
	}
	return printable.Line(s, math.MaxInt)
}

// Columns returns how wide a text for people may be: as the terminal that stdout is.
func Columns() int {
	if n, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		return max(n, 60)
	}
	return 140
}
