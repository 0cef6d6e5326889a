package author

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/record"
	"github.com/windlass-dev/windlass/host/record/replay"
)

// The exit codes of replay.
const (
	exitDifferent = 1
	exitFailed    = 2
)

// comparison is what replay prints.
type comparison struct {
	Controller string          `json:"controller"`
	Same       int             `json:"same"`
	Different  int             `json:"different"`
	Skipped    int             `json:"skipped"`
	Warnings   []string        `json:"warnings,omitempty"`
	Syncs      []replay.Result `json:"syncs"`
}

func replayCommand() *cobra.Command {
	var plugin, engine, controller, key, output string
	var files []string
	var r reach
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run recorded syncs again and compare what they do",
		Long: `Run each sync of a recording again in the sandbox, with the recorded request and outcomes, and compare its answer bit for bit. Nothing is written, no API server is needed.

The recorded module is taken from those that are built in, by its digest. With --plugin another module takes its place: where its effects differ from the recorded ones, the difference is shown. What it
performs in the middle of a sync gets the recorded outcomes as long as it performs the same as the recorded module; the rest of a sync that performs something else can't be known.

Where a sync traps and the module's debug form lies beside it (NAME.debug.wasm, which "windlass plugin build" makes), the panic is shown with file and line.

The exit code is 0 if all syncs are the same, 1 if one differs, 2 if they could not be run.`,
		Example: `  windlass replay deployment.windlass-recording
  windlass replay deployment.windlass-recording --engine interpreter
  windlass replay deployment.windlass-recording --plugin ./deployment-next.wasm --key shop/web
  windlass replay deployment.windlass-recording --plugin registry.example/plugins/deployment@sha256:...`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return answer.Exit(exitFailed, err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			x := &comparison{Syncs: []replay.Result{}}
			if err := runReplay(cmd, &r, args[0], plugin, engine, controller, key, files, x); err != nil {
				return answer.Exit(exitFailed, err)
			}
			var err error
			switch output {
			case "text":
				_, err = io.WriteString(cmd.OutOrStdout(), x.text())
			case "yaml", "json":
				err = answer.Print(cmd.OutOrStdout(), output, x)
			default:
				err = fmt.Errorf("--output %q: must be text, yaml or json", output)
			}
			if err != nil {
				return answer.Exit(exitFailed, err)
			}
			if x.Different > 0 {
				return answer.Exit(exitDifferent, nil)
			}
			return nil
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return answer.Exit(exitFailed, fmt.Errorf("%w: see %s --help", err, c.CommandPath()))
	})
	c.Flags().StringVar(&plugin, "plugin", "",
		"run this module instead of the recorded one: a file, builtin:NAME, or IMAGE@sha256:DIGEST")
	c.Flags().StringVar(&engine, "engine", "compiler", "how the sandbox runs it: compiler or interpreter")
	c.Flags().StringVar(&controller, "controller", "", "reject a recording of another controller")
	c.Flags().StringVar(&key, "key", "", "only the syncs of this key: namespace/name, or name where there is no namespace")
	c.Flags().StringArrayVar(&files, "file", nil,
		"NAME=PATH: the file of a setting whose value is a file (a recording has only its digest); may be repeated")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, yaml or json")
	r.addFlags(c.Flags())
	return c
}

func runReplay(cmd *cobra.Command, r *reach, path, plugin, engine, controller, key string, files []string,
	x *comparison) error {
	interpreter, err := interpreted(engine)
	if err != nil {
		return err
	}

	o := replay.Options{Key: key, Interpreter: interpreter, Files: map[string][]byte{}}
	for _, f := range files {
		name, file, ok := strings.Cut(f, "=")
		if !ok {
			return fmt.Errorf("--file %q: must be NAME=PATH", f)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("--file %s: %w", name, err)
		}
		o.Files[name] = b
	}

	f, err := record.Open(path)
	if err != nil {
		return err
	}

	x.Controller = f.Controller
	if controller != "" && controller != f.Controller && controller+"-controller" != f.Controller {
		return fmt.Errorf("%s: is of controller %s, not of %s", path, f.Controller, controller)
	}

	if plugin != "" {
		if o.Plugin, err = r.findPlugin(cmd.Context(), plugin); err != nil {
			return err
		}
		x.Warnings = replay.Warnings(cmd.Context(), f, o.Plugin)
	}

	return replay.Run(cmd.Context(), f, o, func(r replay.Result) {
		switch r.Verdict {
		case replay.Same:
			x.Same++
		case replay.Different:
			x.Different++
		default:
			x.Skipped++
		}
		x.Syncs = append(x.Syncs, r)
	})
}

// text shows what differs; of what doesn't only the number.
func (x *comparison) text() string {
	var s strings.Builder
	for _, w := range x.Warnings {
		s.WriteString("warning: " + w + "\n")
	}
	for _, r := range x.Syncs {
		if r.Verdict == replay.Same && r.Trap == "" {
			continue
		}
		fmt.Fprintf(&s, "sync %d of %s at %s (%s): %s", r.Number, r.Key, r.Time.UTC().Format(time.RFC3339Nano), r.Ended,
			r.Verdict)
		if r.Why != "" {
			s.WriteString(": " + r.Why)
		}
		s.WriteString("\n")
		if r.Trap != "" {
			s.WriteString(r.Trap + "\n")
		}
		if r.Diff != "" {
			s.WriteString("--- recorded\n+++ run again\n" + r.Diff)
		}
	}
	fmt.Fprintf(&s, "%s: %d same, %d different, %d skipped\n", x.Controller, x.Same, x.Different, x.Skipped)
	return s.String()
}
