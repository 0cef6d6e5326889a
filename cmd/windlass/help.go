package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpful has all commands answer what they can't make sense of in one line that says where to look.
func helpful(root *cobra.Command) {
	walkCommands(root, func(_ string, c *cobra.Command) {
		if c.HasSubCommands() {
			c.Args, c.RunE = unknown, func(c *cobra.Command, _ []string) error { return c.Help() }
			return
		}
		args := c.Args
		if args == nil {
			return
		}
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
			}
			return nil
		}
	})
}

// unknown refuses the name of a command that isn't there.
func unknown(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := ""
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		meant = ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s: see %s --help", args[0], c.CommandPath(), meant, c.CommandPath())
}
