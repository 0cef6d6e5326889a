package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// schedulerConfig lifts the default of 50 requests per second, which would make binding the slowest part of any test of
// size.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
`

// runScheduler schedules pods until ctx ends.
func runScheduler(ctx context.Context, kubeconfig string) error {
	config := filepath.Join(filepath.Dir(kubeconfig), "kube-scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfig, kubeconfig), 0o600); err != nil {
		return err
	}
	opts := options.NewOptions()
	opts.ConfigFile = config
	opts.SecureServing.BindPort = 0
	cc, scheduler, err := app.Setup(ctx, opts)
	if err != nil {
		return err
	}
	return app.Run(ctx, cc, scheduler)
}
