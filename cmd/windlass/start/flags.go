package start

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/config/kcm"
)

// replaced is the program whose place windlass takes: under its name windlass runs the controllers, with its flags.
const replaced = "kube-controller-manager"

// Arguments returns those of the command line: under kube-controller-manager's name they are flags of `windlass run`.
func Arguments(args []string) []string {
	if filepath.Base(args[0]) == replaced {
		return append([]string{"run"}, args[1:]...)
	}
	return args[1:]
}

// noArguments refuses arguments, but takes empty ones, which templates of manifests leave behind, as upstream does.
func noArguments(cmd *cobra.Command, args []string) error {
	return cobra.NoArgs(cmd, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "" }))
}

// logIgnoredFlags logs which flags change nothing.
func logIgnoredFlags(fs *pflag.FlagSet) {
	for _, n := range config.Notices(fs) {
		klog.InfoS("A flag of kube-controller-manager changes nothing here", "flag", n.Flag, "reason", n.Why)
	}
}

// meantFlag adds to an unknown flag's error those that may have been meant: there are too many to look for it by eye.
func meantFlag(c *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		err = fmt.Errorf("%w%s", err, config.Nearest("--"+unknown.GetSpecifiedName(), names))
	}
	return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
}

// groupFlags has a command's help show its flags in groups, those that change nothing last and by name alone.
func groupFlags(c *cobra.Command) {
	c.SetFlagErrorFunc(meantFlag)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		w := c.OutOrStdout()
		fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", c.Long, c.UseLine(), c.Example)
		printFlags(w, c)
	})
	c.SetUsageFunc(func(c *cobra.Command) error {
		w := c.OutOrStderr()
		fmt.Fprintf(w, "Usage:\n  %s\n", c.UseLine())
		printFlags(w, c)
		return nil
	})
}

func printFlags(w io.Writer, c *cobra.Command) {
	left := map[string]*pflag.Flag{}
	for _, fs := range []*pflag.FlagSet{c.Flags(), c.InheritedFlags()} {
		fs.VisitAll(func(f *pflag.Flag) { left[f.Name] = f })
	}

	var theirs cliflag.NamedFlagSets
	var reasons []string
	idle := map[string][]string{}
	for _, g := range kcm.Groups {
		for _, f := range g.Flags {
			group, why := g.Name, f.Why
			if slices.ContainsFunc(kcm.Controllers, func(c kcm.Controller) bool { return c.Name == group }) {
				group = "controllers"
			}
			if strings.HasSuffix(why, kcm.Unbuilt) {
				why = "the controllers that read them aren't built yet"
			}
			switch known := left[f.Name]; {
			case known == nil:
				continue
			case why == "":
				theirs.FlagSet(group).AddFlag(known)
			default:
				if idle[why] == nil {
					reasons = append(reasons, why)
				}
				idle[why] = append(idle[why], "--"+f.Name)
			}
			delete(left, f.Name)
		}
	}

	var all cliflag.NamedFlagSets
	for _, f := range left {
		all.FlagSet("windlass's own").AddFlag(f)
	}

	for _, name := range theirs.Order {
		all.FlagSet(name).AddFlagSet(theirs.FlagSets[name])
	}
	width := answer.Columns()
	for _, name := range all.Order {
		fmt.Fprintf(w, "\n%s:\n\n%s", strings.ToUpper(name[:1])+name[1:], all.FlagSets[name].FlagUsagesWrapped(width))
	}

	fmt.Fprintf(w, "\nFlags of kube-controller-manager that are accepted and change nothing, because\n")
	for _, why := range reasons {
		fmt.Fprintf(w, "\n  %s:\n%s", why, wrapped(idle[why], width))
	}
}

// wrapped puts words on lines of at most so many columns.
func wrapped(words []string, width int) string {
	var b strings.Builder
	line := "     "
	for _, w := range words {
		if len(line)+1+len(w) > width && strings.TrimSpace(line) != "" {
			b.WriteString(line + "\n")
			line = "     "
		}
		line += " " + w
	}
	return b.String() + line + "\n"
}
