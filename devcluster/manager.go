package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // upstream's main has them
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// controllerManagerCommand runs the native kube-controller-manager, for takeovers and comparisons.
func controllerManagerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kube-controller-manager [--] FLAGS",
		Short:              "Run the native kube-controller-manager with its own flags",
		DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) {
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			native := app.NewControllerManagerCommand()
			native.SetArgs(args)
			os.Exit(cli.Run(native))
		},
	}
}
