package author

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/author/testserver"
)

// simulateCommand is for tests, which package sdk/plugintest starts it for.
func simulateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "simulate", Hidden: true, Args: cobra.NoArgs,
		Short:   "Simulate a cluster for a test over stdin and stdout",
		Example: "  windlass plugin simulate # which package sdk/plugintest runs",
		RunE: func(cmd *cobra.Command, args []string) error {
			return testserver.Serve(cmd.Context(), cmd.InOrStdin(), os.Stdout)
		},
	}
}
