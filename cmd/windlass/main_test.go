package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

func TestMain(m *testing.M) { answertest.Main(m, main) }

// The version is told as other programs tell theirs.
func TestVersionFlag(t *testing.T) {
	cmd, stdout, stderr := answertest.Command(t, "--version")
	if err := cmd.Run(); err != nil || !strings.HasPrefix(stdout.String(), "Windlass ") || stderr.String() != "" {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
}

// What goes wrong is one line on stderr that says what to do, and exit code 1; never a page of flags.
func TestErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "a.wasm")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown command": {[]string{"fly"}, `unknown command "fly"`},
		"unknown flag":    {[]string{"run", "--fly"}, "unknown flag: --fly: see windlass run --help"},
		"no such shell":   {[]string{"completion", "nosh"}, `unknown command "nosh"`},
		"argument":        {[]string{"run", "fly"}, "unknown command"},
		"several bad values": {[]string{"run", "--kube-api-qps=-1", "--secure-port=70000"},
			"clientConnection.qps: Invalid value: -1"},
		"no configuration": {[]string{"run", "--config=/nowhere.yaml"}, "configuration: open /nowhere.yaml: no such file"},
		"no such module":   {[]string{"plugin", "inspect", "/nowhere.wasm"}, "/nowhere.wasm: no such file"},
		"not a module":     {[]string{"plugin", "inspect", text}, text + `: not a WebAssembly module`},
		"no built-in":      {[]string{"plugin", "inspect", "builtin:nothing"}, `no built-in plugin "nothing"`},
		"bad output":       {[]string{"plugin", "inspect", text, "-o", "xml"}, `--output "xml": must be yaml or json`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := answertest.Command(t, c.args...)
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("exited with %v", err)
			}
			if got := stderr.String(); !strings.HasPrefix(got, "windlass: ") || !strings.Contains(got, c.want) ||
				strings.Count(got, "\n") != 1 {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: %s", stdout)
			}
		})
	}
}
