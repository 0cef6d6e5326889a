package running

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/state"
)

func recordCommand() *cobra.Command {
	var output string
	var from *server
	c := &cobra.Command{
		Use:   "record CONTROLLER",
		Short: "Save the last syncs of a controller",
		Long: `Save the last syncs of a controller of a running windlass: the request of each, the effects done in the middle of it ("performed") with their outcomes, its answer, and how it ended.
The data of Secrets is left out, but other objects are in the file: protect it as you protect them. windlass replay runs it again.`,
		Example: `  windlass record deployment -o deployment.windlass-recording
  windlass replay deployment.windlass-recording`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := from.get(cmd.Context(), "/debug/recordings/"+args[0], nil)
			if err != nil {
				return err
			}
			f, err := record.Parse(b)
			if err != nil {
				return err
			}
			if output == "" {
				output = f.Controller + "-" + f.Saved.UTC().Format("20060102-150405") + record.Extension
			}
			if err := record.WriteFile(output, b); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d syncs of %s, %d bytes\n", output, len(f.Syncs), f.Controller, len(b))
			return err
		},
	}

	c.Flags().StringVarP(&output, "output", "o", "",
		"the file; by default one in this folder, named after the controller and the time")
	from = serverFlags(c)
	return c
}

func explainCommand() *cobra.Command {
	var output, namespace string
	var from *server
	c := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Show which controller wrote an object last, and why",
		Long: `Show which controllers of a running windlass have written an object: the last write of each, the newest first, with the version of the plugin, the key whose sync it was,
and how that sync ended. The host remembers the last writes to a few thousand objects for each controller, since it was started.`,
		Example: `  windlass explain deployment/web -n shop
  windlass explain replicasets.apps/web-5d4f -n shop -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "yaml" && output != "json" {
				return fmt.Errorf("--output %q: must be text, yaml or json", output)
			}
			kind, name, ok := strings.Cut(args[0], "/")
			if !ok || kind == "" || name == "" {
				return fmt.Errorf("%q: must be KIND/NAME, such as deployment/web", args[0])
			}
			b, err := from.get(cmd.Context(), "/debug/explain", url.Values{"resource": {kind}, "namespace": {namespace},
				"name": {name}})
			if err != nil {
				return err
			}
			var e state.Explanation
			if err := json.Unmarshal(b, &e); err != nil {
				return fmt.Errorf("%s: %w", from.address, err)
			}
			if output != "text" {
				return answer.Print(cmd.OutOrStdout(), output, e)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), explained(&e, time.Now()))
			return err
		},
	}

	c.Flags().StringVarP(&namespace, "namespace", "n", "default", "the object's namespace")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, yaml or json")
	from = serverFlags(c)
	return c
}

// explained reports an object's last writes in sentences.
func explained(e *state.Explanation, now time.Time) string {
	object := e.Resource + " " + strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	if len(e.Writes) == 0 {
		return object + ": no controller of this windlass has written it since its start, as far as it remembers\n"
	}

	var s strings.Builder
	s.WriteString(object + "\n")
	for _, x := range e.Writes {
		what := x.Verb
		if x.Subresource != "" {
			what += " " + x.Subresource
		}
		fmt.Fprintf(&s, "\n%s: %s, %v ago", x.Controller, what, now.Sub(x.Time).Round(time.Second))
		if x.ResourceVersion != "" {
			fmt.Fprintf(&s, ", resourceVersion %s", x.ResourceVersion)
		}
		result := x.Result
		switch {
		case result == "":
			result = "is under way"
		case x.SyncError != "":
			result += ": " + x.SyncError
		}
		fmt.Fprintf(&s, "\n  plugin  %s %s %s\n  sync    of %s: %s\n  wrote   %s\n", x.Plugin, x.Version, x.Digest, x.Key,
			result, strings.Join(x.Writes, ", "))
	}
	return s.String()
}
