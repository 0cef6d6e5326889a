package about

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/config/kcm"
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
		RunE:    func(cmd *cobra.Command, _ []string) error { return PrintVersions(cmd.OutOrStdout(), true) },
	}
}

// PrintVersions writes the versions of all, or windlass's alone.
func PrintVersions(w io.Writer, all bool) error {
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

// VersionFlag is --version as kube-controller-manager has it: true and raw print and end; a version to be told in place
// of the real one is taken, and told of.
type VersionFlag string

// AddVersionFlag adds --version, and returns its value.
func AddVersionFlag(fs *pflag.FlagSet) *VersionFlag {
	v := VersionFlag("false")
	fs.Var(&v, "version", "print the version and end; --version=raw prints all of them")
	fs.Lookup("version").NoOptDefVal = "true"
	return &v
}

func (v *VersionFlag) String() string { return string(*v) }

func (v *VersionFlag) Type() string { return "version" }

func (v *VersionFlag) Set(s string) error {
	switch {
	case s == "raw" || s == "true" || s == "false":
	case strings.HasPrefix(s, "v1."):
		klog.InfoS("A flag of kube-controller-manager changes nothing here", "flag", "--version="+s, "reason",
			"windlass tells its own version")
		s = "false"
	default:
		return fmt.Errorf("must be true, false, raw or a version of Kubernetes such as v1.%d.0", kcm.Minor)
	}
	*v = VersionFlag(s)
	return nil
}
