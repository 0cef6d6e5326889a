package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
)

// Each value of --output that is offered is one that the command takes, and what a command takes is offered.
func TestOutputs(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	seen := 0
	answer.Walk(command(), func(path string, c *cobra.Command) {
		f := c.Flags().Lookup("output")
		if f == nil || path == "record" || path == "plugin pull" || path == "plugin build" { // where it is a file
			return
		}
		seen++
		if len(answer.Formats[path]) == 0 {
			t.Errorf("%s: nothing is offered for --output", path)
			return
		}
		for _, o := range append([]string{"xml"}, answer.Formats[path]...) {
			args := append(strings.Split(path, " "), "--output", o)
			if c.Flags().Lookup("server") != nil {
				args = append(args, "--server", strings.TrimPrefix(gone.URL, "http://"))
			}
			switch path {
			case "explain":
				args = append(args, "deployment/web")
			case "get sync":
				args = append(args, "deployment")
			case "replay", "plugin inspect", "plugin bench":
				args = append(args, file)
			}
			root := command()
			root.SetArgs(args)
			root.SetOut(&bytes.Buffer{})
			err := root.ExecuteContext(t.Context())
			if refused := err != nil && strings.Contains(err.Error(), "--output"); refused != (o == "xml") && path != "replay" {
				t.Errorf("%v: %v", args, err)
			}
			if o != "xml" && !strings.Contains(f.Usage, o) && !strings.Contains(f.DefValue, o) {
				t.Errorf("%s --help doesn't tell of --output %s: %s", path, o, f.Usage)
			}
		}
	})
	if seen != len(answer.Formats) {
		t.Errorf("%d commands have --output, %d are in the table", seen, len(answer.Formats))
	}
}
