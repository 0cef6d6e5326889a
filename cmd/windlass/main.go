// Command windlass is a controller manager whose controllers are sandboxed plugins.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/cmd/windlass/author"
	"github.com/windlass-dev/windlass/cmd/windlass/running"
	_ "github.com/windlass-dev/windlass/host/process/begin" // what this process is, before anything else of it begins
	"github.com/windlass-dev/windlass/host/process/guardian"
)

func main() {
	code := run(arguments(os.Args))
	klog.Flush()
	os.Exit(code)
}

// run does what the arguments say, and returns the exit code.
func run(args []string) int {
	ctx, stop := untilSignalled(func() {
		klog.InfoS("Second signal: exiting at once")
		klog.Flush()
		os.Exit(1)
	})
	defer stop()
	return answer.Execute(ctx, command(), args)
}

// oneSignal is how soon after a signal the next one counts as the same, where there is a guardian: what is sent to all
// processes of a terminal or a unit comes from there once more.
const oneSignal = time.Second

// untilSignalled returns a context that ends with the first SIGINT or SIGTERM; second is called at the next one.
func untilSignalled(second func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	behind, _, guarded := guardian.Ward()
	go func() {
		s := <-signals
		klog.InfoS("Stopping", "signal", s.String())
		cancel()
		if guarded {
			go tellOfEnd(behind)
		}
		for first := time.Now(); ; {
			<-signals
			if !guarded || time.Since(first) > oneSignal {
				second()
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// tellOfEnd logs that the signal came because the guardian has ended, if it did. The kernel sends it when the
// guardian's first thread has ended, and names the guardian as the parent until the last one has.
func tellOfEnd(process int) {
	for end := time.Now().Add(oneSignal); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if os.Getppid() != process {
			klog.InfoS("The guardian has ended, and the manager ends, too", "guardian", process)
			return
		}
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "windlass",
		Short: "A controller manager whose controllers are sandboxed plugins",
		Long: `Windlass is a kube-controller-manager whose controllers are WebAssembly plugins. The host owns the caches, the work queues and the writes to the API server;
a plugin is called with a key and a snapshot of the cache, in a sandbox, and answers with the mutations it wants.`,
		Example: `  windlass run --kubeconfig ~/.kube/config
  windlass status
  windlass get controllers
  source <(windlass completion bash)`,
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

	root.AddCommand(runCommand(), rbacCommand(), versionCommand(), docsCommand())
	root.AddCommand(author.PluginCommand(), author.ReplayCommand())
	root.AddCommand(running.Commands()...)
	helpful(root)
	complete(root)
	return root
}
