// Package about is the commands by which the program tells of itself: what it was built from, and its documentation.
package about

import "github.com/spf13/cobra"

// Commands are "windlass version" and "windlass docs".
func Commands() []*cobra.Command { return []*cobra.Command{versionCommand(), docsCommand()} }
