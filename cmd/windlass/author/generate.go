package author

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/author/generate"
)

func generateCommand() *cobra.Command {
	var o generate.Options
	c := &cobra.Command{
		Use:   "generate [FOLDER]",
		Short: "Write the codec and the CustomResourceDefinition of a custom resource's Go types",
		Long: `Read the Go packages in the folder and below it that name a group (// +groupName=example.com above the package clause), and write
zz_generated.windlass.go beside the types, with what carries their objects between host and plugin, and for each kind a definition as
controller-gen makes it of the same types and markers: crd/GROUP_PLURAL.yaml in the module's folder.

The go command has to be on the PATH. Nothing is compiled or run, and the network isn't needed.`,
		Example: `  windlass plugin generate
  windlass plugin generate ./api --crd deploy/crd
  windlass plugin generate --check

  //go:generate windlass plugin generate`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Dir = args[0]
			}
			o.Out = cmd.OutOrStdout()
			return generate.Run(cmd.Context(), o)
		},
	}
	c.Flags().StringVar(&o.CRDs, "crd", "", "folder for the definitions (default: crd in the module's folder)")
	c.Flags().BoolVar(&o.Check, "check", false, "write nothing, and fail if a file doesn't match the types")
	return c
}
