// Command bench runs the same work under the native kube-controller-manager and under Windlass, and shows what each took.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
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
	o := lab.Options{Say: say(time.Now())}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	names := f.String("scenarios", "", "names of scenarios, separated by commas; all by default: see -list")
	list := f.Bool("list", false, "list the scenarios and end")
	failover := f.Bool("failover", false, "kill leaders, and tell how long it takes until their successors write, instead of scenarios: those of their bases, start-empty and start-pods")
	results := f.String("results", "", "the folder for RESULTS.md and its plots; by default only a table is printed")
	raw := f.String("raw", "", "the file for all figures of all runs, as JSON")
	from := f.String("from", "", "a file that -raw has written: report that, and run nothing")
	f.StringVar(&o.Dir, "dir", "", "the folder for the clusters' files, which are removed; by default a new one in the system's for temporary files")
	f.IntVar(&o.Pairs, "pairs", 3, "how often each manager runs each scenario")
	f.BoolVar(&o.Full, "full", false, "the full sizes, with growth up to 100,000 pods, each scenario on clusters of its own: takes hours")
	f.IntVar(&o.Subject.QPS, "qps", 1000, "the API rate of each client of either manager, and its burst")
	f.StringVar(&o.Profiles, "profile", "", "a folder for profiles: runs each scenario once, under Windlass alone, and writes of each SCENARIO.cpu and SCENARIO.heap, for go tool pprof, and what took most as text")
	f.StringVar(&o.Subject.Profiled, "profiled", "_output/profiled", "with -profile: the program of ./bench/profiled, which make profile builds")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see bench -help", f.Arg(0))
	}
	if o.Pairs < 1 || o.Subject.QPS < 1 {
		return fmt.Errorf("-pairs %d, -qps %d: both must be at least 1", o.Pairs, o.Subject.QPS)
	}
	var err error
	if o.Scenarios, err = choose(*names, o.Full); err != nil {
		return err
	}
	if *list {
		for _, s := range o.Scenarios {
			fmt.Fprintf(out, "%-14s %s\n", s.Name, s.Title(o.Full))
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
		b, err := os.ReadFile(*from)
		if err != nil {
			return fmt.Errorf("-from: %w", err)
		}
		if err := json.Unmarshal(b, &r); err != nil {
			return fmt.Errorf("-from %s: %w", *from, err)
		}
	} else if r, err = measure(ctx, o); err != nil {
		return err
	}
	if *raw != "" {
		b, err := json.MarshalIndent(r, "", "\t")
		if err == nil {
			err = os.WriteFile(*raw, b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("-raw: %w", err)
		}
	}
	if *results != "" {
		if err := r.Write(*results); err != nil {
			return fmt.Errorf("-results: %w", err)
		}
		o.Say("%s is written", filepath.Join(*results, "RESULTS.md"))
	}
	return r.Print(out)
}

// choose gives the scenarios of the names, or all of the form.
func choose(names string, full bool) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	if names == "" {
		for _, s := range scenario.All {
			if full || !s.Full {
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
	o.Kinds, o.Pairs = []subject.Kind{subject.Windlass}, 1
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

// measure runs the scenarios.
func measure(ctx context.Context, o lab.Options) (r report.Report, err error) {
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
	r.Setting.Pairs, r.Setting.Full, r.Setting.QPS, r.Setting.Controllers = o.Pairs, o.Full, o.Subject.QPS, o.Subject.Controllers
	results, err := lab.Run(ctx, o)
	if err != nil {
		return r, err
	}
	if o.Profiles != "" {
		if err := texts(ctx, o.Profiles, o.Scenarios); err != nil {
			return r, err
		}
	}
	for _, s := range o.Scenarios {
		r.Scenarios = append(r.Scenarios, report.Scenario{Name: s.Name, Title: s.Title(o.Full), Native: results[s.Name][subject.Native], Windlass: results[s.Name][subject.Windlass]})
	}
	return r, nil
}

// say prints progress with the time since the beginning.
func say(from time.Time) func(string, ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(from).Seconds(), fmt.Sprintf(format, args...))
	}
}
