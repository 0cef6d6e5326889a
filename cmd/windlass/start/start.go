// Package start is the commands that read a manager's configuration: windlass run, which starts the manager, windlass
// rbac, which prints the roles that it needs, and windlass config, which checks it.
package start

import "github.com/spf13/cobra"

// Commands are "windlass run", "windlass rbac" and "windlass config".
func Commands() []*cobra.Command {
	return []*cobra.Command{runCommand(), rbacCommand(), configCommand()}
}
