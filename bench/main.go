// Command bench runs the same work under the native kube-controller-manager and under Windlass, and shows what each
// took.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/windlass-dev/windlass/bench/lab"
	"github.com/windlass-dev/windlass/bench/report"
	"github.com/windlass-dev/windlass/bench/scenario"
	"github.com/windlass-dev/windlass/bench/subject"
)

const usage = `Usage: bench [flags]

Runs the same work under the native kube-controller-manager and under Windlass, in turn, on equal clusters of their own, and
prints medians and their ratios. It takes the programs that make build and make devcluster leave in _output.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What client-go has to say of watches that end is not for people who wait for figures.
	klog.SetLogger(logr.Discard())
	err := run(ctx, os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o := lab.Options{Say: progressPrinter(time.Now())}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	names := f.String("scenarios", "", "names of scenarios, separated by commas; by default all but those that -list says are only measured where named")
	list := f.Bool("list", false, "list the scenarios and end")
	failover := f.Bool("failover", false, "kill leaders, and tell how long it takes until their successors write, "+
		"instead of scenarios: those of their bases, start-empty and start-pods")
	results := f.String("results", "", "the folder for RESULTS.md and its plots; by default only a table is printed")
	raw := f.String("raw", "", "the file for all figures of all runs, as JSON")
	goOn := f.Bool("continue", false, "with -raw: if the last run was interrupted, take what its file has, and measure "+
		"the rest; not if the machine, the programs or what is measured have changed")
	from := f.String("from", "", "a file that -raw has written: report that, and run nothing")
	f.StringVar(&o.Dir, "dir", "",
		"the folder for the clusters' files, which are removed; by default a new one in the system's for temporary files")
	f.IntVar(&o.Pairs, "pairs", 3, "how often each manager runs each scenario")
	f.DurationVar(&o.More, "more", 0, "go on beyond -pairs, up to nine, with pairs of what takes so little that they "+
		"fit into this time; the first pair settles it")
	f.BoolVar(&o.Full, "full", false,
		"the full sizes, with growth up to 100,000 pods, each scenario on clusters of its own: takes hours")
	f.IntVar(&o.Subject.QPS, "qps", 1000, "the API rate of each client of either manager, and its burst")
	f.StringVar(&o.Profiles, "profile", "", "a folder for profiles: runs each scenario once, under Windlass alone, and "+
		"writes of each SCENARIO.cpu and SCENARIO.heap, for go tool pprof, and what took most as text")
	f.StringVar(&o.Subject.Profiled, "profiled", "_output/profiled",
		"with -profile: the program of ./bench/profiled, which make profile builds")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see bench -help", f.Arg(0))
	}
	if o.Pairs < 1 || o.Subject.QPS < 1 {
		return fmt.Errorf("-pairs %d, -qps %d: both must be at least 1", o.Pairs, o.Subject.QPS)
	}
	if o.More < 0 {
		return fmt.Errorf("-more %v: it must not be negative", o.More)
	}

	var err error
	if o.Scenarios, err = chooseScenarios(*names, o.Full); err != nil {
		return err
	}
	if *list {
		for _, s := range scenario.All {
			if !o.Full && s.Full && !s.Named {
				continue
			}
			title := s.Title(o.Full)
			if s.Named {
				title += " (only where it is named)"
			}
			fmt.Fprintf(out, "%-14s %s\n", s.Name, title)
		}
		return nil
	}
	if *failover {
		return failovers(ctx, o, out)
	}

	if o.Kinds = []subject.Kind{subject.Native, subject.Windlass}; o.Profiles == "" {
		o.Subject.Profiled = ""
	} else if err := profiles(&o); err != nil {
		return err
	}

	var r report.Report
	if *from != "" {
		if r, err = report.Read(*from); err != nil {
			return fmt.Errorf("-from: %w", err)
		}
		if *raw != "" {
			if err := r.Save(*raw); err != nil {
				return fmt.Errorf("-raw: %w", err)
			}
		}
	} else if r, err = measure(ctx, o, *raw, *goOn); err != nil {
		return err
	}

	if *results != "" {
		if err := r.Write(*results); err != nil {
			return fmt.Errorf("-results: %w", err)
		}
		o.Say("%s is written", filepath.Join(*results, "RESULTS.md"))
	}
	return r.Print(out)
}

// chooseScenarios returns the scenarios of the names, or all of the form but those that are only measured by name.
func chooseScenarios(names string, full bool) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	if names == "" {
		for _, s := range scenario.All {
			if !s.Named && (full || !s.Full) {
				all = append(all, s)
			}
		}
		return all, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		s, err := scenario.Find(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// profiles makes the options those of one run of Windlass with profiles.
func profiles(o *lab.Options) error {
	o.Kinds, o.Pairs, o.More = []subject.Kind{subject.Windlass}, 1, 0
	var err error
	if o.Subject.Profiled, err = filepath.Abs(o.Subject.Profiled); err != nil {
		return err
	}
	if _, err := os.Stat(o.Subject.Profiled); err != nil {
		return fmt.Errorf("-profiled: %w: run make profile", err)
	}
	if o.Profiles, err = filepath.Abs(o.Profiles); err != nil {
		return err
	}
	return os.MkdirAll(o.Profiles, 0o755)
}

// measure runs the scenarios, and keeps in raw what has been measured so far.
func measure(ctx context.Context, o lab.Options, raw string, goOn bool) (r report.Report, err error) {
	o.Subject.HPAPeriod = scenario.HPAPeriod(o.Full)
	if o.Subject.Controllers, err = subject.Controllers(ctx); err != nil {
		return r, err
	}

	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "windlass-bench-"); err != nil {
			return r, err
		}
		defer os.RemoveAll(o.Dir)
	}

	if r.Setting, err = report.Here(ctx); err != nil {
		return r, err
	}
	r.Setting.Pairs, r.Setting.More, r.Setting.Full, r.Setting.QPS, r.Setting.Controllers = o.Pairs, o.More, o.Full,
		o.Subject.QPS, o.Subject.Controllers
	wanted := o.Scenarios
	if goOn {
		if r, err = interrupted(r, raw, wanted); err != nil {
			return r, err
		}
		o.Scenarios = slices.DeleteFunc(slices.Clone(wanted), func(s *scenario.Scenario) bool {
			return r.Find(s.Name) != nil
		})
		if n := len(r.Scenarios); n > 0 {
			o.Say("%d of %d scenarios are measured already: going on with the rest", n, len(wanted))
		}
	}

	before := r.Scenarios
	o.Done = func(results lab.Results) error {
		r.Scenarios = slices.Clone(before)
		for _, s := range o.Scenarios {
			if sets := results[s.Name]; sets != nil {
				r.Scenarios = append(r.Scenarios,
					report.Scenario{Name: s.Name, Title: s.Title(o.Full), Native: sets[subject.Native],
						Windlass: sets[subject.Windlass]})
			}
		}
		place := func(s report.Scenario) int {
			return slices.IndexFunc(wanted, func(w *scenario.Scenario) bool { return w.Name == s.Name })
		}
		slices.SortFunc(r.Scenarios, func(a, b report.Scenario) int { return place(a) - place(b) })
		if raw == "" {
			return nil
		}
		if err := r.Save(raw); err != nil {
			return fmt.Errorf("-raw: %w", err)
		}
		return nil
	}

	if _, err := lab.Run(ctx, o); err != nil {
		return r, err
	}
	if o.Profiles != "" {
		return r, writeSummaries(ctx, o.Profiles, o.Scenarios)
	}
	return r, nil
}

// interrupted is what a run in the same setting has kept of the scenarios wanted, if it was interrupted: without any of
// them else.
func interrupted(now report.Report, raw string, wanted []*scenario.Scenario) (report.Report, error) {
	if raw == "" {
		return now, errors.New("-continue: -raw must name the file of the interrupted run")
	}
	last, err := report.Read(raw)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		return now, fmt.Errorf("-continue: %w", err)
	}
	if !last.Setting.Same(now.Setting) {
		return now, nil
	}
	last.Scenarios = slices.DeleteFunc(last.Scenarios, func(s report.Scenario) bool {
		return !slices.ContainsFunc(wanted, func(w *scenario.Scenario) bool {
			return w.Name == s.Name && w.Title(now.Setting.Full) == s.Title
		})
	})
	if len(last.Scenarios) == 0 || len(last.Scenarios) == len(wanted) {
		return now, nil
	}
	last.Setting.Continued = append(last.Setting.Continued, now.Setting.Time)
	return last, nil
}

// progressPrinter returns what prints progress with the time since the beginning.
func progressPrinter(from time.Time) func(string, ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(from).Seconds(), fmt.Sprintf(format, args...))
	}
}
