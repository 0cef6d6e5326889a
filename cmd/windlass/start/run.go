package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/cmd/windlass/about"
	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/manager"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/process/guardian"
)

// stopMax is how long stopping may take besides the syncs in flight: the server lets its requests end for 5 s.
const stopMax = 10 * time.Second

// forever is a time after which nobody waits any more.
const forever = 100 * 365 * 24 * time.Hour

func runCommand() *cobra.Command {
	var version *about.VersionFlag
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the controllers",
		Long: `Run the controllers until SIGINT or SIGTERM; a second signal ends the process at once.

With leader election the process that is started is a small guardian, and the manager its child: when that is killed or crashes, its Leases are given up for it
("windlass docs leadership").

A flag takes precedence over its environment variable (WINDLASS_KUBECONFIG for --kubeconfig, WINDLASS_PLUGIN_FOLDER for --plugin-folder, ...), the variable over the
file of --config, and the file over the defaults shown here. The file is strict: a field that doesn't exist is an error.

All flags of kube-controller-manager v1.37 are accepted, so that its manifests work with another image and command; a program of that name, a link to this one, needs no
"run". A flag that changes nothing here is accepted, and the log says why: "windlass docs flags" lists all.

Health, metrics and state are served over HTTPS on --bind-address and --secure-port, to those whom the cluster allows it.`,
		Example: `  # All controllers that are on by default, as the user of a kubeconfig
  windlass run --kubeconfig ~/.kube/config

  # All but the endpoints controller, with plugins of one's own beside or in place of the built-in ones
  windlass run --kubeconfig ~/.kube/config --controllers='*,-endpoint' --plugin-folder ./plugins

  # Only two, from a file: apiVersion: config.windlass.dev/v1alpha1, kind: ControllerManagerConfiguration, controllers: [deployment, replicaset]
  windlass run --config windlass.yaml -v 2`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *version != "false" {
				return about.PrintVersions(cmd.OutOrStdout(), *version == "raw")
			}
			c, err := config.FromFlags(cmd.Flags())
			if ended, files, ok := guardian.Heir(); ok {
				return executeWill(c, err, ended, files)
			}
			if err != nil {
				return err
			}
			behind, will, unguarded := guarded(cmd.Context(), &c.LeaderElection)
			if err := process.StartLog(&c.Logging); err != nil {
				return err
			}
			if unguarded != nil {
				klog.ErrorS(unguarded, "The manager has no guardian: when it is killed its leases have to expire")
			}
			logIgnoredFlags(cmd.Flags())
			grace := c.ShutdownTimeout.Duration
			if grace == 0 {
				grace = forever
			}
			o := manager.Options{Grace: grace, Guardian: behind, Will: will,
				Load:   func() (*config.Configuration, error) { return config.FromFlags(cmd.Flags()) },
				Reload: hangups(cmd.Context()), Flags: flagsOf(cmd.Flags())}
			if f := cmd.Flags().Lookup("config"); f != nil && f.Value.String() != "" {
				o.Files = []string{f.Value.String()}
			}
			return logExitError(c, bounded(cmd.Context(), grace+stopMax,
				func(ctx context.Context) error { return manager.Run(ctx, c, o) }))
		},
	}
	config.AddFlags(c.Flags())
	version = about.AddVersionFlag(c.Flags())
	groupFlags(c)
	return c
}

// flagsOf returns the flags with their values, for people to read.
func flagsOf(fs *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { all[f.Name] = f.Value.String() })
	return all
}

// logExitError logs why the process ends, where a line that isn't JSON would spoil the log.
func logExitError(c *config.Configuration, err error) error {
	if err == nil || c.Logging.Format != config.LogJSON {
		return err
	}
	klog.ErrorS(err, "Windlass ends")
	return answer.Exit(1, nil)
}

// hangups reports each SIGHUP.
func hangups(ctx context.Context) <-chan struct{} {
	signals, told := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			select {
			case told <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return told
}

// bounded calls f and returns it most to return once ctx has ended.
func bounded(ctx context.Context, most time.Duration, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return unlessStopped(ctx, err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return unlessStopped(ctx, err)
	case <-time.After(most):
		return fmt.Errorf("did not stop within %v: what was in flight is cut off", most)
	}
}

// unlessStopped takes away the error of having been told to stop.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
