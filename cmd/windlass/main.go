// Command windlass is a controller manager whose controllers are sandboxed plugins.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/cmd/windlass/about"
	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/cmd/windlass/author"
	"github.com/windlass-dev/windlass/cmd/windlass/completion"
	"github.com/windlass-dev/windlass/cmd/windlass/running"
	"github.com/windlass-dev/windlass/cmd/windlass/start"
	"github.com/windlass-dev/windlass/host/process"
	_ "github.com/windlass-dev/windlass/host/process/begin" // what this process is, before anything else of it begins
)

func main() {
	code := run(start.Arguments(os.Args))
	klog.Flush()
	os.Exit(code)
}

// run does what the arguments say, and returns the exit code.
func run(args []string) int {
	ctx, stop := process.UntilSignalled(func() {
		klog.InfoS("Second signal: exiting at once")
		klog.Flush()
		os.Exit(1)
	})
	defer stop()
	return answer.Execute(ctx, command(), args)
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "windlass",
		Short: "A controller manager whose controllers are sandboxed plugins",
		Long: `Windlass is a kube-controller-manager whose controllers are WebAssembly plugins. The host owns the caches, the work queues and the writes to the API server;
a plugin is called with a key and a snapshot of the cache, in a sandbox, and returns the writes that it wants done.`,
		Example: `  windlass run --kubeconfig ~/.kube/config
  windlass status
  windlass get controllers
  source <(windlass completion bash)`,
		Version:       process.Built().Version,
		SilenceUsage:  true, // an unreachable server is no reason to explain flags
		SilenceErrors: true,
	}

	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
	})
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	for _, name := range []string{"v", "vmodule"} {
		root.PersistentFlags().AddGoFlag(all.Lookup(name))
	}

	root.AddCommand(slices.Concat(start.Commands(), running.Commands(), author.Commands(), about.Commands())...)
	root.SetVersionTemplate("Windlass {{.Version}}\n")
	root.InitDefaultCompletionCmd()
	answer.ExplainUnknown(root)
	completion.Add(root)
	return root
}
