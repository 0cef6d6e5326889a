package start

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/signing/keyring"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Check a configuration before it is used",
		Example: `  windlass config validate --config windlass.yaml`,
	}
	c.AddCommand(validateCommand())
	return c
}

func validateCommand() *cobra.Command {
	var running string
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration, and tell what of it waits for a restart",
		Long: `Check a configuration as windlass run does with these flags and this file, without a cluster: its fields, the plugins, controllers and settings that it names, and the files of the keys that it signs with.

A running windlass applies a changed configuration by itself, but for some fields that it reads at its start only. Those that differ from the file of --running, which is the one that
the running windlass has, are named; without --running, those that differ from the defaults.`,
		Example: `  windlass config validate --config windlass.yaml
  windlass config validate --config new.yaml --running windlass.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := config.FromFlags(cmd.Flags())
			if err != nil {
				return err
			}
			before, err := config.Load(running)
			if err != nil {
				return err
			}

			found, aliases, err := findPlugins(cmd.Context(), k)
			if err != nil {
				return err
			}
			names, _ := plugins.Controllers(found)
			errs := []error{k.LeaderElection.CheckGroups(names, aliases), new(keyring.Keyring).Configure(k)}
			for _, f := range found {
				p := k.Plugin(f.Name)
				_, _, err := plugins.Settings(f.Manifest, p.Settings)
				errs = append(errs, err, plugins.CheckControllers(f.Manifest, p.Controllers))
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}

			fmt.Fprintln(cmd.OutOrStdout(), "The configuration is valid.")
			if waits := config.WaitForRestart(before, k); len(waits) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "Read at the start only, a running windlass waits for a restart: %s\n",
					strings.Join(waits, ", "))
			}
			return nil
		},
	}
	config.AddFlags(c.Flags())
	c.Flags().StringVar(&running, "running", "", "the configuration file that the running windlass has")
	groupFlags(c)
	return c
}
