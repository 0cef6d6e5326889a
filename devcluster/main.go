// Command devcluster runs a real Kubernetes control plane on loopback for tests, demos and benchmarks.
//
// One process holds etcd, kube-apiserver, kube-scheduler and KWOK's node controller, the real ones, compiled from
// their Go modules. There is no kube-controller-manager in it: that place is Windlass's, or, for comparisons, the
// native one's, which the same binary runs as a process of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:           "devcluster",
		Short:         "A real Kubernetes control plane on loopback, without a controller manager",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), controllerManagerCommand(), controllerManagerFlagsCommand(),
		controllerManagerRangesCommand(), kubeadmDiscoveryCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func runCommand() *cobra.Command {
	var o clusterOptions
	var untilEOF bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run etcd, kube-apiserver, kube-scheduler and KWOK nodes until interrupted",
		Long: `Runs a cluster whose files are all in --dir:

  kubeconfig                          an administrator (system:masters)
  kube-controller-manager.kubeconfig  the user system:kube-controller-manager
  ca.crt, ca.key                      what signed the API server's certificate
  sa.key, sa.pub                      the service account key pair
  etcd/                               the data; a later run on the same folder finds it again
  etcd.url                            where etcd serves clients, without TLS

When the cluster can be used, one line that starts with "ready" is printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if untilEOF {
				ctx = untilClosed(ctx, os.Stdin)
			}
			dir, err := filepath.Abs(o.dir)
			if err != nil {
				return fmt.Errorf("--dir: %w", err)
			}
			o.dir = dir
			return run(ctx, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "", "folder for the cluster's files (made when missing)")
	f.IntVar(&o.nodes, "nodes", 3, "number of KWOK nodes")
	f.BoolVar(&o.podRanges, "pod-ranges", true, "give each node its pod ranges; false leaves that to a controller")
	f.BoolVar(&o.liftTaints, "lift-taints", true,
		"take away the taint of new nodes that they aren't ready; false leaves that to a controller")
	f.IntVar(&o.port, "port", 0, "the API server's port on loopback; 0 takes a free one")
	f.StringVar(&o.auditLog, "audit-log", "", "file for an audit log of every request at metadata level")
	f.BoolVar(&untilEOF, "until-eof", false,
		"stop when standard input ends, so that the cluster never outlives who started it")
	if err := cmd.MarkFlagRequired("dir"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// untilClosed returns a context that ends when r does. A parent that dies, however it dies, closes its end of the pipe.
func untilClosed(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	return ctx
}
