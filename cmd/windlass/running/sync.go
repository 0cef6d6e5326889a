package running

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/author/golden"
	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/record"
)

// syncCommand shows one recorded sync whole. windlass get syncs lists them without what is in objects.
func syncCommand() *cobra.Command {
	var output, file string
	var back int
	var from *server
	c := &cobra.Command{
		Use:   "sync CONTROLLER [KEY]",
		Short: "One recorded sync: its request, what it performed with the outcomes, its answer, what was written",
		Long: `Show a recorded sync: the snapshot in its request, the effects done in the middle of it ("performed") with their outcomes, its answer, what was written of it, and how it ended.
By default it is the key's last one, with --back an earlier one; with --file it is taken from a file that windlass record has written.

With -o golden it is a golden case for the plugin's folder testdata: the same key, time and objects, and the outcomes of what the sync performed. "windlass plugin test --update" writes the output
beneath it. Objects of custom resources are in it, too; the plugin's folder crd must define them. What a case can't express is noted in comments.

It shows the contents of objects, except for the data of Secrets: the user must be allowed to get recordings (windlass rbac --operator).`,
		Example: `  windlass get sync deployment shop/web
  windlass get sync replicaset shop/web-6657fd4bb6 --back 1 -o yaml
  windlass get sync replicaset shop/web-6657fd4bb6 -o golden > testdata/seen.yaml`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all := answer.Formats["get sync"]; !slices.Contains(all, output) {
				return fmt.Errorf("--output %q: must be %s", output, strings.Join(all, ", "))
			}
			var f *record.File
			var err error
			if file != "" {
				f, err = record.Open(file)
			} else if b, failed := from.get(cmd.Context(), "/debug/recordings/"+args[0], nil); failed != nil {
				err = failed
			} else {
				f, err = record.Parse(b)
			}
			if err != nil {
				return err
			}
			s, err := selectSync(f, append(args, "")[1], back)
			if err != nil {
				return errors.New(from.addressed(err.Error()))
			}
			if output == "golden" {
				return printCase(cmd, f, s)
			}
			x, err := record.Show(f, s)
			if err != nil {
				return err
			}
			return answer.Print(cmd.OutOrStdout(), output, x)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "yaml", "yaml, json, or golden for a golden case")
	c.Flags().StringVar(&file, "file", "", "a recording's file to read, instead of asking a running windlass")
	c.Flags().IntVar(&back, "back", 0, "how many syncs before the key's last one")
	from = serverFlags(c)
	return c
}

// selectSync returns the last sync of a key, or the one so many before it. Without a key that may be any key's.
func selectSync(f *record.File, key string, back int) (*record.Sync, error) {
	n := 0
	for i := len(f.Syncs) - 1; i >= 0; i-- {
		if key != "" && f.Syncs[i].Key.String() != key {
			continue
		}
		if n == back {
			return &f.Syncs[i], nil
		}
		n++
	}
	return nil, fmt.Errorf("%s: only %d syncs of key %q are recorded: windlass get syncs --controller %s lists them",
		f.Controller, n, key, f.Controller)
}

func printCase(cmd *cobra.Command, f *record.File, s *record.Sync) error {
	c, left, err := golden.Recorded(f, s)
	if err != nil {
		return err
	}
	text, err := record.YAML(c)
	if err != nil {
		return err
	}
	source := &f.Sources[s.Source]
	var b bytes.Buffer
	fmt.Fprintf(&b, "# A sync of %s at %s, which ended %s. Plugin %s %s.\n", f.Controller,
		s.Start.UTC().Format(time.RFC3339), s.Result, source.Plugin, source.Version)
	for _, l := range left {
		fmt.Fprintf(&b, "# Not in the case: %s.\n", answer.Line(l, 5*answer.LineMax))
	}
	b.WriteString(text)
	_, err = cmd.OutOrStdout().Write(b.Bytes())
	return err
}
