package author

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/author/bench"
	"github.com/windlass-dev/windlass/author/build"
	"github.com/windlass-dev/windlass/author/check"
	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/author/scaffold"
	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/process"
	"github.com/windlass-dev/windlass/host/sandbox"
)

func newCommand() *cobra.Command {
	var o scaffold.Options
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a new plugin, which builds, passes its tests and runs as it is",
		Long: `Create a folder with a new plugin: a small controller, its module's main package, a test with cases, and the SDK's source, so that nothing has to be downloaded to build it. The controller
creates a ConfigMap with a label's value in each namespace that has the label, or with --custom-resource for each object of a kind of your own, whose Go types and CustomResourceDefinition are written, too: change it
into what you want.

Go 1.26 and TinyGo 0.41 build it, or Go alone.`,
		Example: `  windlass plugin new hello
  windlass plugin new website --custom-resource Website --group example.com
  windlass plugin new hello --dir ~/src/hello --module git.example/team/hello`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Version = args[0], process.Built().Version
			folder, files, err := scaffold.New(cmd.Context(), o)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), nextSteps(args[0], folder, files, o.Kind != ""))
			return err
		},
	}
	c.Flags().StringVar(&o.Folder, "dir", "", "the folder to create (default: NAME)")
	c.Flags().StringVar(&o.Kind, "custom-resource", "",
		"the kind of a custom resource that the controller is for, such as Website")
	c.Flags().StringVar(&o.Group, "group", "", "the custom resource's API group, such as example.com")
	c.Flags().StringVar(&o.Module, "module", "", "path of the Go module (default: example.com/NAME)")
	return c
}

// nextSteps says what is in the folder and what to do with it; custom: there is a definition of a custom resource.
func nextSteps(name, folder string, files []string, custom bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, and the SDK in %s\n\n", folder, strings.Join(files, ", "), scaffold.SDKFolder)
	fmt.Fprintf(&b, "  cd %s\n", folder)
	steps := [][2]string{
		{"go test ./...", "its cases, and a simulated cluster"},
		{"windlass plugin build", name + ".wasm"},
		{"windlass plugin inspect " + name + ".wasm", "what it reads, writes and is made of"},
	}
	if custom {
		steps = append(steps, [2]string{"kubectl apply -f crd/", "the custom resource"},
			[2]string{"kubectl wait --for=condition=Established -f crd/", "which the API server serves a moment later"},
			[2]string{"kubectl apply -f example.yaml", "one of them"})
	}
	steps = append(steps, [2]string{fmt.Sprintf("windlass run --kubeconfig ~/.kube/config --plugin-folder . "+
		"--controllers=%s-controller --leader-elect-resource-name=windlass-%s", name, name),
		"it alone, beside the cluster's own manager"})
	steps = append(steps, [2]string{"windlass plugin build -o FOLDER",
		"or into the plugin folder of a windlass that runs"})

	for _, step := range steps {
		fmt.Fprintf(&b, "  %-60s # %s\n", step[0], step[1])
	}
	return b.String()
}

func sdkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sdk [FOLDER]",
		Short: "Write the SDK's source into a plugin's folder",
		Long: `Write the source of this windlass's SDK into ` + scaffold.SDKFolder + ` of a plugin's folder, and replace what is there: run it after an update of windlass, or where version control doesn't keep that folder.
The plugin's go.mod says "replace ` + scaffold.SDKModule + ` => ./` + scaffold.SDKFolder + `".`,
		Example: "  windlass plugin sdk\n  windlass plugin sdk ./hello",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := folderOf(args)
			if _, err := os.Stat(filepath.Join(folder, "go.mod")); err != nil {
				return fmt.Errorf("%s: has no go.mod, so it isn't a plugin's folder: name one, or make one with \"windlass plugin "+
					"new NAME\"", folder)
			}
			if err := scaffold.WriteSDK(folder, process.Built().Version); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: the SDK of windlass %s\n", filepath.Join(folder, scaffold.SDKFolder),
				process.Built().Version)
			return err
		},
	}
}

func benchCommand() *cobra.Command {
	o := bench.Options{}
	var cases, run, engine, output string
	var r reach
	c := &cobra.Command{
		Use:   "bench FILE|FOLDER|builtin:NAME|IMAGE@sha256:DIGEST",
		Short: "Measure a plugin's syncs in the sandbox",
		Long: `Run the sync of each case again and again in the sandbox, and print what it costs: syncs per second on one processor, the time of one sync in total, in the guest and for resetting the guest's memory, units of fuel, memory
in bytes, the host's allocations, effects performed in the middle of the sync, and the bytes of the request with its snapshot and of the answer. The time that these effects take isn't counted.

Where a folder with the plugin's Go source is named, its module is built again first if it is missing or older. The cases are those of the folder "testdata" beside the module's file, or of --cases; --run selects some.`,
		Example: `  windlass plugin bench ./hello.wasm
  windlass plugin bench ./hello.wasm --run create --for 5s
  windlass plugin bench ./hello.wasm -o json | jq .[].perSecond`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if !slices.Contains(answer.Formats["plugin bench"], output) {
				return fmt.Errorf("--output %q: must be text, yaml or json", output)
			}
			if o.Interpreter, err = interpreted(engine); err != nil {
				return err
			}
			if o.For < time.Millisecond || o.For > time.Hour {
				return fmt.Errorf("--for %v: must be from 1ms to 1h", o.For)
			}
			beside := filepath.Dir(args[0])
			if info, statErr := os.Stat(args[0]); statErr == nil && info.IsDir() {
				beside = args[0]
				o.Plugin, err = check.Find(cmd.Context(), args[0], cmd.ErrOrStderr())
			} else {
				o.Plugin, err = r.findPlugin(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			if cases == "" {
				cases = filepath.Join(beside, "testdata")
			}
			if o.Cases, err = selected(cases, run); err != nil {
				return err
			}
			results, err := bench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if output != "text" {
				return answer.Print(cmd.OutOrStdout(), output, results)
			}
			return printMeasured(cmd.OutOrStdout(), results)
		},
	}
	c.Flags().StringVar(&cases, "cases", "", "the folder of the cases (default testdata beside the module)")
	c.Flags().StringVar(&run, "run", "", "only the cases whose TOPIC/CASE matches, as with go test")
	c.Flags().DurationVar(&o.For, "for", time.Second, "how long each case is repeated")
	c.Flags().StringVar(&engine, "engine", "compiler", "how the sandbox runs it: compiler or interpreter")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, yaml or json")
	r.addFlags(c.Flags())
	return c
}

// selected returns the cases of a folder whose TOPIC/CASE a pattern matches.
func selected(folder, run string) ([]*golden.Case, error) {
	pattern, err := golden.NewPattern(run)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	all, err := golden.Cases(folder)
	if err != nil {
		return nil, fmt.Errorf("%w: name their folder with --cases", err)
	}

	if cases := pattern.Of(all); len(cases) > 0 {
		return cases, nil
	}

	return nil, fmt.Errorf("--run %s: none of the %d cases in %s has such a name", run, len(all), folder)
}

// interpreted reports whether an engine is the interpreter.
func interpreted(engine string) (bool, error) {
	switch engine {
	case "compiler":
		return false, nil
	case "interpreter":
		return true, nil
	}
	return false, fmt.Errorf("--engine %q: must be compiler or interpreter", engine)
}

func printMeasured(w io.Writer, results []bench.Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "CASE\tSYNCS/S\tµS\tGUEST µS\tRESTORE µS\tFUEL\tMEMORY KIB\tALLOCS\tPERFORMS\tREQUEST B\tANSWER B\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\t%.1f\t%.1f\t%d\t%d\t%.1f\t%d\t%d\t%d\t\n", r.Case, r.PerSecond, microseconds(r.Took),
			microseconds(r.Guest), microseconds(r.Restore), r.Fuel, r.Memory>>10, r.Allocs,
			r.Performs, r.Request, r.Answer)
	}
	return t.Flush()
}

func microseconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1000 }

// folderOf is the folder that an argument names, by default the one that one is in.
func folderOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

func buildCommand() *cobra.Command {
	var o build.Options
	c := &cobra.Command{
		Use:   "build [FOLDER]",
		Short: "Compile a plugin to a module that can be loaded",
		Long: `Compile a plugin's Go source to a WebAssembly module, check it as the host does when it loads it, and write NAME.wasm with its manifest as a section; beside it NAME.debug.wasm, the same source
built by std Go, which isn't to be loaded: "windlass plugin test", "run" and "replay" repeat a call that trapped in it, to show the panic with its file and line.

TinyGo makes modules of some tens of kilobytes. It is taken from --tinygo, $TINYGO or the PATH. With --compiler=go the go command is enough: modules have some megabytes, all of Go's standard library works, and a panic
shows its file and line by itself.

A plugin whose source doesn't set its version gets that of --version, or else the output of "git describe --tags --always --dirty".`,
		Example: `  windlass plugin build
  windlass plugin build ./hello -o /etc/windlass/plugins/ --version v1.2.0
  windlass plugin build --compiler go -o hello-go.wasm`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Folder, o.Messages = folderOf(args), cmd.ErrOrStderr()
			r, err := build.Build(cmd.Context(), o)
			if err != nil {
				return err
			}
			return printBuilt(cmd.OutOrStdout(), r)
		},
	}
	c.Flags().StringVarP(&o.Out, "output", "o", "",
		"the module's file, or a folder to write NAME.wasm into (default: the plugin's folder)")
	c.Flags().StringVar(&o.Compiler, "compiler", build.TinyGo, "tinygo or go")
	c.Flags().StringVar(&o.TinyGo, "tinygo", "", "the TinyGo to build with (default: $TINYGO, or tinygo on the PATH)")
	c.Flags().StringVar(&o.Version, "version", "", "the plugin's version (default: what git describes)")
	c.Flags().BoolVar(&o.Debug, "debug", true, "also build NAME.debug.wasm, which shows panics with file and line")
	return c
}

// printBuilt reports what was built, and what the host will think of it.
func printBuilt(w io.Writer, r *build.Result) error {
	i := r.Inspection
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t%d bytes, %s\n", r.File, i.Size, i.Digest)
	if r.Debug != "" {
		fmt.Fprintf(t, "%s\tfor file and line of panics; not to be loaded\n", r.Debug)
	}
	fmt.Fprintf(t, "plugin\t%s %s, by %s in %v\n", i.Manifest.Name, i.Manifest.Version, r.Compiler,
		r.Took.Round(100*time.Millisecond))
	fmt.Fprintf(t, "memory\t%d KiB at first, at most %d MiB unless its limits say otherwise\n", i.Memory.Min>>10,
		sandbox.DefaultMemoryLimit>>20)
	for _, c := range i.Manifest.Controllers {
		fmt.Fprintf(t, "controller\t%s\n", c.Name)
		for _, v := range c.Views {
			fmt.Fprintf(t, "  reads\t%s: %s\n", v.Resource, strings.Join(v.Fields, ", "))
		}
		for _, x := range c.Writes {
			fmt.Fprintf(t, "  writes\t%s: %s\n", writeTarget(x), strings.Join(x.Verbs, ", "))
		}
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(t, "warning\t%s\n", text)
	}
	return t.Flush()
}

func writeTarget(w abi.Write) string {
	target := w.Resource.String()
	if w.Subresource != "" {
		target += "/" + w.Subresource
	}
	if len(w.Names) > 0 {
		target += " " + strings.Join(w.Names, ", ")
	}
	if len(w.Namespaces) > 0 {
		target += " in " + strings.Join(w.Namespaces, ", ")
	}
	return target
}
