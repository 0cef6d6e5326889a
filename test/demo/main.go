// Command demo shows Windlass at work: a control plane, six controllers as WebAssembly modules, and a Deployment from
// birth to a deleted pod.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	started := time.Now()
	dir, err := os.MkdirTemp("", "windlass-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := bootPlatform(ctx, dir)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := p.tellStory(ctx); err != nil {
		return fmt.Errorf("%w (logs: %s)", err, p.logTails())
	}
	fmt.Printf("\nDone in %.1f s.\n", time.Since(started).Seconds())
	if isTerminal() {
		fmt.Printf("The cluster stays up until Ctrl-C:\n\n  export KUBECONFIG=%s\n  kubectl get "+
			"deployments,pods,endpointslices\n\n", p.kubeconfig)
		<-ctx.Done()
	}
	return nil
}
