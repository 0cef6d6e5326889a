package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/windlass-dev/windlass/bench/lab"
	"github.com/windlass-dev/windlass/bench/report"
	"github.com/windlass-dev/windlass/bench/subject"
)

// failovers kills leaders on the clusters that the starts are measured on, and prints how long their successors took.
func failovers(ctx context.Context, o lab.Options, out io.Writer) (err error) {
	o.Subject.Profiled = ""
	if o.Subject.Controllers, err = subject.Controllers(ctx); err != nil {
		return err
	}

	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "windlass-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.Dir)
	}

	fmt.Fprintf(out, "Medians of %d; the spread is that of all.\n", o.Pairs)
	for _, s := range o.Scenarios {
		if !s.Start {
			continue
		}
		all, err := lab.Failovers(ctx, o, s.Base)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Base.Name, err)
		}
		fmt.Fprintf(out, "\n%s\n\n", s.Title(o.Full))
		t := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
		fmt.Fprintln(t, "manager, standby\tkill to write\tkill to Lease taken\tLease taken to write\texpiry to write")
		for _, k := range lab.Standbys {
			fmt.Fprintf(t, "%v\t%s\t%s\t%s\t%s\n", k,
				formatSpread(all[k], func(f lab.Failover) time.Duration {
					return f.FromKill
				}), formatSpread(all[k], func(f lab.Failover) time.Duration { return f.Taking }),
				formatSpread(all[k], func(f lab.Failover) time.Duration {
					return f.Working
				}), formatSpread(all[k], func(f lab.Failover) time.Duration { return f.FromExpiry }))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}

	return nil
}

// formatSpread returns the median, and the least and the most.
func formatSpread(all []lab.Failover, of func(lab.Failover) time.Duration) string {
	seconds := make([]float64, len(all))
	least, most := of(all[0]), of(all[0])
	for i, f := range all {
		seconds[i] = of(f).Seconds()
		least, most = min(least, of(f)), max(most, of(f))
	}
	return fmt.Sprintf("%.3f s (%.3f to %.3f)", report.Median(seconds), least.Seconds(), most.Seconds())
}
