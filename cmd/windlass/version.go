package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/host/process"
)

// abiVersion is the ABI that plugins have to be built for: the marker they export is windlass_abi_v1.
const abiVersion = "v1"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of windlass, its ABI, Go and the Kubernetes libraries",
		Example: "  windlass version",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return printVersions(cmd.OutOrStdout(), true) },
	}
}

// printVersions prints the versions of all, or windlass's alone.
func printVersions(w io.Writer, all bool) error {
	if !all {
		_, err := fmt.Fprintf(w, "Windlass %s\n", process.Built().Version)
		return err
	}

	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this binary was built without module support and doesn't know its versions")
	}
	_, err := fmt.Fprintf(w, "windlass    %s\nabi         %s\ngo          %s %s/%s\nkubernetes  %s\nwazero      %s\n",
		process.Built().Version, abiVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		dependency(info, "k8s.io/client-go"), dependency(info, "github.com/tetratelabs/wazero"))
	return err
}

func dependency(info *debug.BuildInfo, path string) string {
	for _, d := range info.Deps {
		if d.Path == path {
			return d.Version
		}
	}
	return "unknown"
}
