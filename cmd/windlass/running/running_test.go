package running

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
)

// The test binary is these commands when told so, so that terminals and exit codes are a real process's.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_WINDLASS") != "" {
		root := &cobra.Command{Use: "windlass", SilenceUsage: true, SilenceErrors: true}
		root.AddCommand(Commands()...)
		os.Exit(answer.Execute(context.Background(), root, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func windlass(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), "TEST_AS_WINDLASS=1")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	return c, &stdout, &stderr
}
