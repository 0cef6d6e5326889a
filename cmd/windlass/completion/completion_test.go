package completion_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/about"
	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
	"github.com/windlass-dev/windlass/cmd/windlass/author"
	"github.com/windlass-dev/windlass/cmd/windlass/completion"
	"github.com/windlass-dev/windlass/cmd/windlass/running"
	"github.com/windlass-dev/windlass/cmd/windlass/running/runningtest"
	"github.com/windlass-dev/windlass/cmd/windlass/start"
	"github.com/windlass-dev/windlass/host/state"
)

// command returns a program of all commands.
func command() *cobra.Command {
	root := answertest.Root(slices.Concat(start.Commands(), running.Commands(), author.Commands(), about.Commands())...)
	completion.Add(root)
	return root
}

// offered is what a shell is told: the words without their descriptions, and the directive.
func offered(t *testing.T, args ...string) (all []string, directive string) {
	t.Helper()
	root := command()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
		all = append(all, word)
	}
	last := len(all) - 1
	return all[:last], strings.TrimPrefix(all[last], ":")
}

// The directives by their numbers, which a shell gets.
const (
	noFiles     = "4"
	filesOnly   = "8"
	foldersOnly = "16"
)

func TestCompletion(t *testing.T) {
	defer func(d time.Duration) { running.AskMost = d }(running.AskMost)
	running.AskMost = time.Minute
	here := runningtest.Known(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/windlass/v1/status" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		if err := json.NewEncoder(w).Encode(state.Status{Controllers: []state.ControllerStatus{{Name: "one-controller",
			State: "Running"}, {Name: "other-controller", State: "Quarantined"}}}); err != nil {
			t.Error(err)
		}
	}))

	gone := httptest.NewServer(nil)
	gone.Close()
	nowhere := strings.TrimPrefix(gone.URL, "http://")
	for _, x := range []struct {
		name      string
		args      []string
		want      []string // are among those that are offered
		only      bool     // nothing else is
		not       []string
		directive string
	}{
		{name: "commands", args: []string{""}, want: []string{"run", "get", "plugin", "replay", "completion"},
			directive: noFiles},
		{name: "things to get", args: []string{"get", ""}, want: []string{"controllers", "plugins", "differences"},
			directive: noFiles},
		{name: "controllers that run", args: []string{"release", "--server", here, ""},
			want: []string{"one-controller", "other-controller"}, only: true, directive: noFiles},
		{name: "one that was begun", args: []string{"record", "--server", here, "ot"}, want: []string{"other-controller"},
			only: true, directive: noFiles},
		{name: "a second one", args: []string{"record", "--server", here, "other-controller", ""}, only: true,
			directive: noFiles},
		{name: "built-in controllers where none answers", args: []string{"record", "--server", nowhere, ""},
			want: []string{"deployment-controller", "replicaset-controller"}, directive: noFiles},
		{name: "controllers of a flag", args: []string{"get", "differences", "--server", here, "--controller", "one"},
			want: []string{"one-controller"}, only: true, directive: noFiles},
		{name: "the enablement list", args: []string{"run", "--controllers", "*,-deploy"},
			want: []string{"*,-deployment-controller"}, only: true, directive: "6"},
		{name: "plugins", args: []string{"rbac", "deployment", ""}, want: []string{"replicaset"}, not: []string{"deployment"},
			directive: noFiles},
		{name: "outputs", args: []string{"get", "controllers", "-o", ""}, want: []string{"wide", "yaml", "json", "name"},
			only: true, directive: noFiles},
		{name: "an output that was begun", args: []string{"explain", "--output", "y"}, want: []string{"yaml"}, only: true,
			directive: noFiles},
		{name: "formats of the log", args: []string{"run", "--logging-format="}, want: []string{"text", "json"}, only: true,
			directive: noFiles},
		{name: "engines", args: []string{"replay", "--engine", ""}, want: []string{"compiler", "interpreter"}, only: true,
			directive: noFiles},
		{name: "built-in modules", args: []string{"plugin", "inspect", "builtin:repl"}, want: []string{"builtin:replicaset"},
			directive: noFiles},
		{name: "modules in files", args: []string{"plugin", "push", "./"}, want: []string{"wasm"}, only: true,
			directive: filesOnly},
		{name: "modules of a flag", args: []string{"replay", "f", "--plugin", "/"}, want: []string{"wasm"}, only: true,
			directive: filesOnly},
		{name: "recordings", args: []string{"replay", ""}, want: []string{"windlass-recording"}, only: true,
			directive: filesOnly},
		{name: "configurations", args: []string{"run", "--config", ""}, want: []string{"yaml", "yml", "json"}, only: true,
			directive: filesOnly},
		{name: "folders", args: []string{"run", "--plugin-folder", ""}, only: true, directive: foldersOnly},
		{name: "folders with types", args: []string{"plugin", "generate", ""}, only: true, directive: foldersOnly},
		{name: "compilers", args: []string{"plugin", "build", "--compiler", ""}, want: []string{"tinygo", "go"}, only: true,
			directive: noFiles},
		{name: "a plugin's folder", args: []string{"plugin", "build", ""}, only: true, directive: foldersOnly},
		{name: "modules to measure", args: []string{"plugin", "bench", "./"}, want: []string{"wasm"}, only: true,
			directive: filesOnly},
		{name: "cases", args: []string{"plugin", "bench", "f", "--cases", ""}, only: true, directive: foldersOnly},
		{name: "no argument", args: []string{"run", ""}, only: true, directive: noFiles},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, directive := offered(t, x.args...)
			for _, w := range x.want {
				if !slices.Contains(got, w) {
					t.Errorf("%q isn't offered", w)
				}
			}
			if x.only && len(got) != len(x.want) || directive != x.directive ||
				slices.ContainsFunc(x.not, func(w string) bool { return slices.Contains(got, w) }) {
				t.Errorf("offered %q with :%s, want :%s", got, directive, x.directive)
			}
		})
	}
}

// The scripts are ones that their shells can read, as far as a shell is here.
func TestScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		t.Run(shell, func(t *testing.T) {
			root := command()
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetArgs([]string{"completion", shell})
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "windlass") || !strings.Contains(out.String(), cobra.ShellCompRequestCmd) {
				t.Errorf("the script is %.200s", out.String())
			}
			if shell != "bash" { // the one that every machine of ours has
				return
			}
			c := exec.CommandContext(t.Context(), "bash", "-n")
			c.Stdin = &out
			if b, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, b)
			}
		})
	}
}
