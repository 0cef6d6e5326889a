// Package start is the commands that read a manager's configuration: windlass run, which starts the manager, and
// windlass rbac, which prints the roles that it needs.
package start

import "github.com/spf13/cobra"

// Commands are "windlass run" and "windlass rbac".
func Commands() []*cobra.Command { return []*cobra.Command{runCommand(), rbacCommand()} }
