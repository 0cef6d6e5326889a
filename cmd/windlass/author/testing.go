package author

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/author/check"
	"github.com/windlass-dev/windlass/cmd/windlass/answer"
)

func testCommand() *cobra.Command {
	var o check.Options
	var output string
	c := &cobra.Command{
		Use:   "test FILE|FOLDER|builtin:NAME",
		Short: "Test a module: golden cases, and a simulated cluster with faults",
		Long: `Run a module's golden cases (the documents of testdata/TOPIC.yaml) in the sandbox: the output must equal what each case has under want, be the same in a second call, and be the same on whole objects
as on the declared fields. Where there is a testdata/world.yaml, simulate that world: undisturbed, then with crashes, refused writes, late caches and events out of order, and compare the final states.

Where a folder with the plugin's Go source is named, its module is built again first if it is missing or older than that source or the SDK's; a module's file is tested as it is.

No API server is needed and nothing outside the folder is touched. Each finding says what to do, and names a file that runs it again (--replay). The exit code is 1 if there is any finding.`,
		Example: `  windlass plugin test .
  windlass plugin test . --run create/twice
  windlass plugin test ./hello.wasm --cases testdata --update
  windlass plugin test ./web.wasm --with builtin:deployment --with builtin:replicaset --seeds 50
  windlass plugin test . --replay testdata/findings/web-crash.yaml`,
		Args: validateModuleArgs(&output),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Messages = cmd.ErrOrStderr()
			r, err := check.Module(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			if output == "text" {
				_, err = io.WriteString(cmd.OutOrStdout(), r.Text())
			} else {
				err = answer.Print(cmd.OutOrStdout(), output, r)
			}
			if err == nil && len(r.Findings) > 0 {
				return answer.Exit(1, nil)
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&o.Cases, "cases", "", "the folder of the cases and of world.yaml (default testdata beside the module)")
	f.StringVar(&o.Run, "run", "", "only the cases whose TOPIC/CASE matches, as with go test, and don't simulate")
	f.BoolVar(&o.Update, "update", false, "write the output of the cases into their files, and don't simulate")
	f.IntVar(&o.Seeds, "seeds", 10, "how many runs to simulate with events out of order")
	f.StringArrayVar(&o.With, "with", nil,
		"another plugin in the simulated cluster: builtin:NAME or a file; may be given several times")
	f.StringToStringVar(&o.Settings, "set", nil, "NAME=VALUE: a setting of the plugin")
	f.StringSliceVar(&o.Except, "except", nil, "checks that the controller doesn't have to pass, named as in findings")
	f.StringSliceVar(&o.Keep, "keep", nil,
		"resources, such as v1/persistentvolumeclaims, whose objects may stay when the key's object is gone")
	f.StringVar(&o.Replay, "replay", "", "run the file of a finding again, and nothing else")
	f.StringVarP(&output, "output", "o", "text", "text, yaml or json")
	return c
}

func offlineCommand() *cobra.Command {
	var o check.RunOptions
	var output string
	c := &cobra.Command{
		Use:   "run FILE|FOLDER|builtin:NAME -f OBJECTS",
		Short: "Run a module on objects from files and show what it would do",
		Long: `Run one sync of each key in the sandbox, on objects from files, and show what it would write as a difference. The cluster is in memory: no API server is needed.

A file of golden cases is run as it is: each case's key, at its time, with all its settings; the expected output isn't compared.

With --settle it goes on, with what the cluster does by itself (pods run, garbage is collected), until nothing changes any more.`,
		Example: `  windlass plugin run ./hello.wasm -f objects.yaml
  windlass plugin run builtin:deployment -f web.yaml --key default/web -o yaml
  windlass plugin run builtin:deployment --with builtin:replicaset -f web.yaml --settle`,
		Args: validateModuleArgs(&output),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(o.Files) == 0 {
				return fmt.Errorf("--filename: name the files with the objects")
			}
			o.Messages = cmd.ErrOrStderr()
			if cases, ok, err := check.Cases(cmd.Context(), args[0], o); err != nil {
				return err
			} else if ok {
				return printCases(cmd.OutOrStdout(), output, cases)
			}
			all, err := check.Run(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			if output == "text" {
				_, err = io.WriteString(cmd.OutOrStdout(), check.Plan(all))
				return err
			}
			return answer.Print(cmd.OutOrStdout(), output, all)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil,
		"a file, or a folder of files, with objects in YAML, CustomResourceDefinitions among them; may be given several times")
	f.StringVar(&o.Key, "key", "", "only this key: namespace/name, or name where there is no namespace")
	f.BoolVar(&o.Settle, "settle", false, "go on until nothing changes any more")
	f.StringArrayVar(&o.With, "with", nil,
		"another plugin in the same cluster: builtin:NAME or a file; may be given several times")
	f.StringToStringVar(&o.Settings, "set", nil, "NAME=VALUE: a setting of the plugin")
	f.StringVarP(&output, "output", "o", "text", "text, yaml or json")
	return c
}

func printCases(w io.Writer, output string, all []check.Did) error {
	if output != "text" {
		return answer.Print(w, output, all)
	}
	text, err := check.CasesText(all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)

	return err
}

// validateModuleArgs returns a check that wants one module, and an output that there is.
func validateModuleArgs(output *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if o := *output; o != "text" && o != "yaml" && o != "json" {
			return fmt.Errorf("--output %q: must be text, yaml or json", o)
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
}
