package author

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/author/testserver"
)

// simulationsGarbage is how many hundredths of what lives a heap may grow before it is collected. A simulation holds
// a few megabytes and leaves many behind: Go's 100 would take a fifth of the processor's time.
const simulationsGarbage = 400

// simulateCommand is for tests, which package sdk/plugintest starts it for.
func simulateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "simulate", Hidden: true, Args: cobra.NoArgs,
		Short:   "Simulate a cluster for a test over stdin and stdout",
		Example: "  windlass plugin simulate # which package sdk/plugintest runs",
		RunE: func(cmd *cobra.Command, args []string) error {
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(simulationsGarbage)
			}
			return testserver.Serve(cmd.Context(), cmd.InOrStdin(), os.Stdout)
		},
	}
}
