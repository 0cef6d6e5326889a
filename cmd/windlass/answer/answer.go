// Package answer is how commands answer: in which formats, and with which exit code.
package answer

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
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
