// Package answertest runs commands in a process of their own in tests, so that signals, terminals and exit codes are a
// real process's: the test binary is the command line when it is told so.
package answertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
)

const told = "TEST_AS_WINDLASS"

// Main runs the tests, or where the process was started by [Command], the command line, which ends the process.
func Main(m *testing.M, commandLine func()) {
	if os.Getenv(told) != "" {
		commandLine()
	}
	os.Exit(m.Run())
}

// CommandLine returns a program of some commands alone, for [Main].
func CommandLine(commands ...*cobra.Command) func() {
	return func() { os.Exit(answer.Execute(context.Background(), Root(commands...), os.Args[1:])) }
}

// Root returns the command that has some commands, as windlass's own has all of them.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{Use: "windlass", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(commands...)
	answer.ExplainUnknown(root)
	return root
}

// Command returns a command line that isn't started yet, and where its output goes.
func Command(t *testing.T, args ...string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	c = exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), told+"=1")
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = stdout, stderr
	return c, stdout, stderr
}
