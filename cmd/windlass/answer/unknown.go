package answer

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Walk calls f for each command with its path without the program's name.
func Walk(c *cobra.Command, f func(path string, c *cobra.Command)) {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	f(path, c)
	for _, x := range c.Commands() {
		Walk(x, f)
	}
}

// ExplainUnknown has all commands answer what they can't make sense of in one line that says where to look.
func ExplainUnknown(root *cobra.Command) {
	Walk(root, func(_ string, c *cobra.Command) {
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
