package author

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/plugins"
)

// Commands are "windlass plugin" and "windlass replay".
func Commands() []*cobra.Command { return []*cobra.Command{pluginCommand(), replayCommand()} }

func pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Write plugins, look at them, store them in registries, sign them",
		Example: `  windlass plugin new hello
  windlass plugin build ./hello
  windlass plugin inspect builtin:replicaset
  windlass plugin push ./mine.wasm registry.example/plugins/mine:v1`,
	}
	c.AddCommand(newCommand(), sdkCommand(), buildCommand(), benchCommand())
	c.AddCommand(generateCommand(), inspectCommand(), pushCommand(), pullCommand(), signCommand(), verifyCommand(),
		testCommand(), offlineCommand(), simulateCommand())
	return c
}

func inspectCommand() *cobra.Command {
	var output string
	var r reach
	c := &cobra.Command{
		Use:   "inspect FILE|builtin:NAME|IMAGE@sha256:DIGEST",
		Short: "Print a plugin's manifest, and the sections, imports and exports of its module",
		Long: `Print a plugin's manifest (its settings, what its controllers read and write) with the module's digest, size by sections, memory in bytes, imports and exports.

The module runs in the sandbox for its manifest. Nothing else is run and no API server is needed; an image is pulled from its registry. Times in the manifest are in nanoseconds.`,
		Example: `  windlass plugin inspect builtin:replicaset
  windlass plugin inspect ./my-controller.wasm -o json | jq .manifest.controllers[].writes
  windlass plugin inspect registry.example/plugins/mine@sha256:...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "yaml" && output != "json" {
				return fmt.Errorf("--output %q: must be yaml or json", output)
			}
			p, err := r.findPlugin(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			i, err := plugins.Inspect(cmd.Context(), p)
			if err != nil {
				return err
			}
			return answer.Print(cmd.OutOrStdout(), output, i)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "yaml", "yaml or json")
	r.addFlags(c.Flags())
	return c
}
