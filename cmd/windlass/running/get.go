package running

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/controller"
	"github.com/windlass-dev/windlass/host/state"
)

func getCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "get",
		Short: "Show what runs in a windlass",
		Example: `  windlass get controllers
  windlass get keys --controller deployment
  windlass get syncs --key default/web -o wide`,
	}

	c.AddCommand(
		newGetCommand("controllers", "controller",
			"The controllers: their state, their queues, their syncs and what is wrong with them; those that don't run here with the reason", "/windlass/v1/status", func(b []byte, wide bool) (any, table, error) {
				var s state.Status
				err := json.Unmarshal(b, &s)
				return everyController(&s), controllersTable(&s, wide), err
			}),
		newGetCommand("plugins", "plugin", "The plugins: their versions and where they come from", "/windlass/v1/status",
			func(b []byte, wide bool) (any, table, error) {
				var s state.Status
				err := json.Unmarshal(b, &s)
				return s.Plugins, pluginsTable(&s, wide), err
			}),
		newGetCommand("swaps", "", "The last replacements of plugins' versions", "/windlass/v1/status",
			func(b []byte, wide bool) (any, table, error) {
				var s state.Status
				err := json.Unmarshal(b, &s)
				return s.Swaps, swapsTable(&s, wide), err
			}),
		addKeyFlags(newGetCommand("keys", "",
			"The stuck keys (failing, given up, deferred, parked or in a long sync), then those with a timer",
			"/windlass/v1/keys", func(b []byte, wide bool) (any, table, error) {
				var k state.Keys
				err := json.Unmarshal(b, &k)
				return slices.Concat(k.Keys, k.Waiting), keysTable(&k, wide), err
			})),
		addSyncFlags(newGetCommand("syncs", "", "The last syncs as they were recorded: how they ended, what they wrote",
			"/windlass/v1/syncs", func(b []byte, wide bool) (any, table, error) {
				var r state.Recorded
				err := json.Unmarshal(b, &r)
				return r.Syncs, syncsTable(&r, wide), err
			})),
		syncCommand(),
		addControllerFlag(newGetCommand("differences", "", "Syncs that a shadow (plugins[].shadow) answered differently",
			"/windlass/v1/differences",
			func(b []byte, _ bool) (any, table, error) {
				var all []controller.Difference
				err := json.Unmarshal(b, &all)
				return all, differencesTable(all), err
			})))
	return c
}

// addControllerFlag adds to a command the flag that asks for one controller.
func addControllerFlag(c *cobra.Command) *cobra.Command {
	c.Flags().String("controller", "", "only of this controller; the -controller at a name's end may be left out")
	return c
}

// addKeyFlags adds to a command the flags that ask for some keys.
func addKeyFlags(c *cobra.Command) *cobra.Command {
	c.Flags().String("key", "", "only of this key, such as default/web")
	c.Flags().String("match", "", "only of keys that contain this text")
	c.Flags().Int("limit", 100, "how many at most, up to 1000")
	return addControllerFlag(c)
}

// addSyncFlags adds to a command the flags that ask for some syncs.
func addSyncFlags(c *cobra.Command) *cobra.Command {
	c.Flags().Bool("did", false, "only those that wrote something")
	return addKeyFlags(c)
}

// queryOfFlags returns what those flags ask for.
func queryOfFlags(c *cobra.Command) url.Values {
	q := url.Values{}
	for _, name := range []string{"controller", "key", "match", "limit", "did"} {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			q.Set(name, f.Value.String())
		}
	}
	return q
}

// table is what is shown to people: a line of headers, a line for each thing, and what else there is to say.
type table struct {
	lines [][]string
	none  string // is said where there is no line
	notes []string
	names []string // for -o name
}

// newGetCommand makes a command that shows what is read at a path. kind is what one of the things is, for those that
// have names.
func newGetCommand(name, kind, what, path string, read func(b []byte, wide bool) (any, table, error)) *cobra.Command {
	outputs := []string{"wide", "yaml", "json"}
	if kind != "" {
		outputs = append(outputs, "name")
	}

	var output string
	var from *server
	c := &cobra.Command{
		Use:   name,
		Short: what,
		Example: "  windlass get " + name + "\n" +
			"  windlass get " + name + " -o json --server windlass.kube-system:10257",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && !slices.Contains(outputs, output) {
				return fmt.Errorf("--output %q: must be %s, or left out", output, strings.Join(outputs, ", "))
			}
			b, err := from.get(cmd.Context(), path, queryOfFlags(cmd))
			if err != nil {
				return err
			}
			all, t, err := read(b, output == "wide")
			if err != nil {
				return fmt.Errorf("%s doesn't answer like a windlass of this version: %w", from.address, err)
			}
			switch output {
			case "json", "yaml":
				return answer.Print(cmd.OutOrStdout(), output, all)
			case "name":
				for _, n := range t.names {
					if _, err := fmt.Fprintln(cmd.OutOrStdout(), n); err != nil {
						return err
					}
				}
				return nil
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "one of "+strings.Join(outputs, ", ")+"; a table by default")
	from = serverFlags(c)
	return c
}

func (t table) write(to io.Writer) error {
	if len(t.lines) > 1 {
		for _, l := range aligned(t.lines) {
			if _, err := fmt.Fprintln(to, l); err != nil {
				return err
			}
		}
	} else if t.none != "" {
		t.notes = append([]string{t.none}, t.notes...)
	}
	for _, n := range t.notes {
		if _, err := fmt.Fprintln(to, n); err != nil {
			return err
		}
	}
	return nil
}

// aligned are the lines of a table with its columns under each other.
func aligned(table [][]string) (lines []string) {
	var all bytes.Buffer
	w := tabwriter.NewWriter(&all, 0, 0, 3, ' ', 0)
	for _, l := range table {
		fmt.Fprintln(w, strings.Join(l, "\t"))
	}
	_ = w.Flush() // into memory
	for l := range strings.Lines(all.String()) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	return lines
}

func shortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}

func releaseCommand() *cobra.Command {
	var from *server
	c := &cobra.Command{
		Use:   "release CONTROLLER",
		Short: "End a controller's quarantine",
		Long:  "End the quarantine of a controller whose plugin kept failing. If it goes on failing, it is quarantined again; a new version of the plugin ends a quarantine as well. Of a built-in controller, which is never quarantined, the keys that are set aside are tried at once.",
		Example: `  windlass get controllers
  windlass release deployment-controller`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := from.readResponse(cmd.Context(), http.MethodPost, "/windlass/v1/controllers/"+args[0]+"/release",
				nil); err != nil {
				return fmt.Errorf("controller %s: %w", args[0], err)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), args[0]+": released")
			return err
		},
	}
	from = serverFlags(c)
	return c
}
