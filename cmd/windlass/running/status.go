package running

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/windlass-dev/windlass/cmd/windlass/answer"
	"github.com/windlass-dev/windlass/host/state"
)

// The exit codes of windlass status.
const (
	exitUnhealthy   = 1
	exitUnreachable = 2
)

// statusMax is how long windlass status waits for an answer.
const statusMax = 10 * time.Second

func statusCommand() *cobra.Command {
	var output string
	var from *server
	c := &cobra.Command{
		Use:   "status",
		Short: "Show on one screen whether a windlass is healthy, what is wrong, and what to do next",
		Example: `  windlass status
  windlass status --server windlass.kube-system:10257 -o json`,
		Long: `Show on one screen whether a windlass is healthy, what is wrong, and what to do next.

The exit code is 0 where it is healthy, 1 where something that is configured doesn't run as it is configured, 2 where it doesn't answer or refuses to. Single keys that fail are warnings.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "yaml" && output != "json" {
				return fmt.Errorf("--output %q: must be yaml or json, or left out", output)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), statusMax)
			defer cancel()
			s, err := from.fetchStatus(ctx)
			if err != nil {
				return answer.Exit(exitUnreachable, err)
			}
			health, err := from.fetchHealth(ctx)
			if err != nil {
				return answer.Exit(exitUnreachable, err)
			}
			if output != "" {
				err = answer.Print(cmd.OutOrStdout(), output, s)
			} else {
				_, err = io.WriteString(cmd.OutOrStdout(), from.addressed(statusText(s, health)))
			}
			if err != nil {
				return err
			}
			if health != "" || slices.ContainsFunc(s.Troubles, func(t state.Trouble) bool { return t.Level == state.Bad }) {
				return answer.Exit(exitUnhealthy, nil)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "yaml or json; text by default")
	from = serverFlags(c)
	return c
}

func (s *server) fetchStatus(ctx context.Context) (*state.Status, error) {
	b, err := s.get(ctx, "/windlass/v1/status", nil)
	if err != nil {
		return nil, err
	}
	x := &state.Status{}
	if err := json.Unmarshal(b, x); err != nil {
		return nil, fmt.Errorf("%s doesn't answer like a windlass of this version: %w", s.address, err)
	}
	return x, nil
}

// fetchHealth returns what /healthz finds wrong, a line for each check; empty where all is well.
func (s *server) fetchHealth(ctx context.Context) (string, error) {
	_, err := s.get(ctx, "/healthz", nil)
	if failed := (*statusError)(nil); errors.As(err, &failed) && failed.code == http.StatusInternalServerError {
		var wrong []string
		for l := range strings.Lines(failed.text) {
			if strings.HasPrefix(l, "[-]") {
				wrong = append(wrong, answer.Line(strings.TrimPrefix(l, "[-]"), 2*answer.LineMax))
			}
		}
		return strings.Join(append(wrong, ""), "\n"), nil
	}
	return "", err
}

// statusText is a screen for people.
func statusText(s *state.Status, health string) string {
	var b strings.Builder
	p := &s.Process
	guardian := ""
	if p.Guardian != 0 {
		guardian = fmt.Sprintf(" with guardian %d", p.Guardian)
	}

	fmt.Fprintf(&b, "windlass on %s, process %d%s, up %s, for the API server %s\n\n", answer.Line(p.Host, answer.LineMax),
		p.PID, guardian, formatAge(s, p.Started), p.Server)
	verdict := "ok"
	switch {
	case health != "":
		verdict = "failing: " + strings.ReplaceAll(strings.TrimSpace(health), "\n", "\n               ")
	case slices.ContainsFunc(s.Troubles, func(t state.Trouble) bool { return t.Level == state.Bad }):
		verdict = "the process is healthy, but not all runs as configured: see below"
	}

	fmt.Fprintf(&b, "health         %s\n", verdict)
	for _, l := range leadership(s) {
		fmt.Fprintf(&b, "%s\n", l)
	}

	for _, l := range signs(s) {
		fmt.Fprintf(&b, "signing        %s\n", l)
	}

	by := map[string]int{}
	var queue, syncing, stuck int
	var syncs, failed int64
	for i := range s.Controllers {
		c := &s.Controllers[i]
		by[c.State]++
		queue, syncing, stuck = queue+c.Queue, syncing+c.Syncing, stuck+c.Failing+c.Parked
		syncs, failed = syncs+c.Syncs.Total, failed+c.Syncs.Failed
	}

	var states []string
	for _, name := range []string{"Running", "Starting", "Standby", "Idle", "Degraded", "Quarantined"} {
		if n := by[name]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, strings.ToLower(name)))
		}
	}

	fmt.Fprintf(&b, "controllers    %d: %s\n", len(s.Controllers), strings.Join(states, ", "))
	if len(s.Absent) > 0 {
		fmt.Fprintf(&b, "not running    %d: %s; windlass get controllers lists them\n", len(s.Absent), absentStates(s.Absent))
	}

	fmt.Fprintf(&b, "keys           %d in queues, %d being synced, %d stuck\n", queue, syncing, stuck)
	fmt.Fprintf(&b, "syncs          %d, %d of them failed\n", syncs, failed)
	if len(s.Swaps) > 0 {
		x := &s.Swaps[0]
		fmt.Fprintf(&b, "last swap      %s, %s ago: %s\n", x.Plugin, formatAge(s, x.Time), x.Result)
	}

	if len(s.Troubles) == 0 {
		b.WriteString("\nNothing is wrong" + standsBy(s) + ".\n")
		return b.String()
	}

	b.WriteString("\n")
	for _, t := range s.Troubles {
		word := map[string]string{state.Bad: "BROKEN", state.Warning: "WARNING", state.Note: "NOTE"}[t.Level]
		fmt.Fprintf(&b, "%-8s %s: %s\n", word, answer.Line(t.About, answer.LineMax), answer.Line(t.What, 5*answer.LineMax))
		if t.Do != "" {
			fmt.Fprintf(&b, "         %s\n", answer.Line(t.Do, 5*answer.LineMax))
		}
	}
	return b.String()
}

// signs says which files the manager signs with, and until when, once for each.
func signs(s *state.Status) (all []string) {
	by := map[string][]string{}
	for i := range s.SigningKeys {
		k := &s.SigningKeys[i]
		with := answer.Line(k.Files[0], answer.LineMax)
		if k.Until != nil {
			with += " until " + k.Until.UTC().Format(time.DateOnly)
		}
		if by[with] == nil {
			all = append(all, with)
		}
		by[with] = append(by[with], k.Signs)
	}
	for i, with := range all {
		all[i] = with + ": " + strings.Join(by[with], ", ")
	}
	return all
}

// standsBy says what a windlass that runs nothing waits for; nothing where it runs something.
func standsBy(s *state.Status) string {
	var waits []string
	for i := range s.Leaders {
		l := &s.Leaders[i]
		if l.Here {
			return ""
		}
		if l.Holder != "" {
			waits = append(waits, fmt.Sprintf("the Lease %s, which %s holds", l.Lease, answer.Line(l.Holder, answer.LineMax)))
		}
	}
	if len(waits) == 0 {
		return ""
	}
	return ", but no controller runs here: it stands by for " + strings.Join(waits, " and ") + ".\n" +
		"To run some beside who holds it: --controllers and --leader-elect-resource-name (windlass docs leadership)"
}

// absentStates counts the controllers that don't run by why they don't.
func absentStates(all []state.Absent) string {
	by := map[string]int{}
	for _, a := range all {
		by[a.State]++
	}
	var states []string
	for _, x := range []struct{ state, words string }{{state.NotBuilt, "not built yet"}, {state.Disabled, "disabled"},
		{state.Loading, "loading"}, {state.LeftOut, "left out"}, {"Standby", "standby"}} {
		if n := by[x.state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, x.words))
		}
	}
	return strings.Join(states, ", ")
}

// leadership are lines about who leads which controllers; none where there is no election.
func leadership(s *state.Status) (all []string) {
	for i := range s.Leaders {
		l := &s.Leaders[i]
		holder, since := answer.Line(l.Holder, answer.LineMax), ""
		switch {
		case l.Here:
			holder = "here"
		case l.Holder == "":
			holder = "nobody"
		}
		if l.Since != nil {
			since = ", for " + duration.HumanDuration(s.Process.Now.Sub(*l.Since))
		}
		all = append(all, fmt.Sprintf("%-14s %s: %s%s", "leader", l.Lease, holder, since))
	}
	return all
}
