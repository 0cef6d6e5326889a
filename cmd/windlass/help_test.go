package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
)

// All commands help in the same way: what they are for, how they are used, what each flag does and what it is without a
// word.
func TestHelp(t *testing.T) {
	commands := 0
	root := command()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	answer.Walk(root, func(path string, c *cobra.Command) {
		if strings.HasPrefix(path, "completion") || path == "help" {
			return // cobra's own
		}
		commands++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || strings.ToUpper(c.Short[:1]) != c.Short[:1] {
			t.Errorf("%q: Short is %q: begin it with a capital letter, end it without a full stop", path, c.Short)
		}

		switch {
		case c.Example == "":
			t.Errorf("%q has no Example", path)
		default:
			for l := range strings.Lines(c.Example) {
				if l = strings.TrimSuffix(l, "\n"); l != "" && !strings.HasPrefix(l, "  ") {
					t.Errorf("%q: a line of its example isn't indented by two blanks: %q", path, l)
				}
			}
			if !strings.Contains(c.Example, "windlass "+path) {
				t.Errorf("%q: its example doesn't have it: %s", path, c.Example)
			}
		}

		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%q: --%s does %q: say what, without a full stop", path, f.Name, f.Usage)
			}
		})

		help, err := helpText(t, path)
		if err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if path != "" && !strings.Contains(help, "Examples:\n") || !strings.Contains(help, "Usage:\n") {
			t.Errorf("%q: its help has no usage or no examples", path)
		}
	})
	if commands < 15 {
		t.Errorf("there are %d commands", commands)
	}
}

func helpText(t *testing.T, path string) (string, error) {
	t.Helper()
	root := command()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(append(strings.Fields(path), "--help"))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// The examples are ones that the commands take: their flags exist.
func TestExamples(t *testing.T) {
	answer.Walk(command(), func(path string, c *cobra.Command) {
		for l := range strings.Lines(c.Example) {
			for part := range strings.SplitSeq(l, "|") {
				words := strings.Fields(part)
				for len(words) > 0 && strings.Contains(words[0], "=") { // a variable
					words = words[1:]
				}
				if len(words) == 0 || words[0] != "windlass" {
					continue
				}
				root := command()
				found, rest, err := root.Find(words[1:])
				if err != nil {
					t.Errorf("%q: %s: %v", path, strings.TrimSpace(l), err)
					continue
				}
				if i := slices.IndexFunc(rest, func(w string) bool { return strings.HasPrefix(w, ">") || w == "&&" }); i >= 0 {
					rest = rest[:i]
				}
				found.InheritedFlags() // has cobra add those of the commands above
				if err := found.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), "help requested") {
					t.Errorf("%q: %s: %v", path, strings.TrimSpace(l), err)
				}
			}
		}
	})
}

// What nobody can make sense of is answered with a line that says what to do.
func TestUnknown(t *testing.T) {
	answer.Walk(command(), func(path string, c *cobra.Command) {
		run := func(args ...string) error {
			root := command()
			root.SetOut(&bytes.Buffer{})
			root.SetErr(&bytes.Buffer{})
			root.SetArgs(append(strings.Fields(path), args...))
			return root.ExecuteContext(t.Context())
		}
		if err := run("--no-such-flag"); err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") ||
			!strings.Contains(err.Error(), strings.TrimSpace("windlass "+path)+" --help") {
			t.Errorf("%q with an unknown flag: %v", path, err)
		}
		tooMany := []string{"no-such-argument", "no-such-argument", "no-such-argument"}
		if path == "rbac" { // takes any number
			tooMany = tooMany[:1]
		}
		switch err := run(tooMany...); {
		case err == nil:
			t.Errorf("%q takes arguments that it can't know", path)
		case path != "rbac" && !strings.Contains(err.Error(), strings.TrimSpace("windlass "+path)+" --help"):
			t.Errorf("%q with unknown arguments doesn't say where there is help: %v", path, err)
		case strings.Contains(err.Error(), "\n\n"):
			t.Errorf("%q with unknown arguments says a page: %v", path, err)
		}
	})
}
