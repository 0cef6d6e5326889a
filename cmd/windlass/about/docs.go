package about

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/docs"
)

// proseWidth is the most columns in which prose reads well.
const proseWidth = 100

func docsCommand() *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use:   "docs [PAGE]",
		Short: "Read the documentation",
		Long:  `Print a page of the documentation; without a name, the one that lists them.`,
		Example: `  windlass docs
  windlass docs tutorial | less
  windlass docs abi --markdown`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return docs.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := docs.Index
			if len(args) > 0 {
				name = args[0]
			}

			page, err := docs.Page(name)
			if err != nil {
				return err
			}
			if !markdown {
				page = docs.Terminal(page, min(answer.Columns(), proseWidth))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), page)
			return err
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print the page as it is written")
	return c
}
