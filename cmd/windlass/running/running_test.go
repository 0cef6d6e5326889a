package running

import (
	"context"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/cmd/windlass/answer/answertest"
)

func TestMain(m *testing.M) {
	answertest.Main(m, func() {
		root := &cobra.Command{Use: "windlass", SilenceUsage: true, SilenceErrors: true}
		root.AddCommand(Commands()...)
		os.Exit(answer.Execute(context.Background(), root, os.Args[1:]))
	})
}
