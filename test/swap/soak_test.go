package swap

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/cluster"
	"github.com/windlass-dev/windlass/test/windlass"
)

var (
	soakSwaps  = flag.Int("swaps", 10_000, "how often BenchmarkSoak replaces a controller")
	soakWithin = flag.Duration("within", 24*time.Hour, "how long BenchmarkSoak goes on at most, whatever -swaps says")
	soakReport = flag.String("report", "", "the file that BenchmarkSoak writes its figures to")
	soakHeaps  = flag.String("heaps", "",
		"the folder that BenchmarkSoak writes a heap profile to after each quarter of the swaps")
)

// What must hold beside what is exact: how much slower other controllers may be while one is replaced again and again,
// and how much more memory the last quarter may have than the second.
const (
	slower     = 1.5
	grown      = 1.10
	measurings = 100 // of memory, unless that would be one within ten swaps
	warmUp     = 10 * time.Second
	calmest    = 4 * time.Second // of each round
)

// BenchmarkSoak replaces a busy controller -swaps times (make soak: 10,000). Each version has to write before the next
// one comes. Rounds of swaps take turns with times under the same load without: the machine has others to serve, and
// the two must be compared under the same conditions. After each round every set must have exactly its pods, and
// exactly as many must have been made and deleted as that took.
func BenchmarkSoak(b *testing.B) {
	if *soakHeaps != "" {
		runtime.MemProfileRate = 4 << 10 // what grows by some bytes with each swap is to be seen
	}
	path := filepath.Join(b.TempDir(), "windlass.log")
	log, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() { log.Close() })
	windlass.LogTo(b, log)
	b.Cleanup(func() {
		if b.Failed() {
			b.Log(cluster.Tail(path))
		}
	})

	w := newWorld(b, "deployment", "replicaset", "serviceaccount", "endpointslice")
	l := &load{world: w, ledger: newLedger()}
	w.wrap = l.wrapConfig
	w.startManager()
	l.createObjects()
	s := &soak{load: l, calm: latencies{}, busy: latencies{}, began: time.Now()}
	l.runUnderLoad(func(ctx context.Context) error { return sleepFor(ctx, warmUp) })
	s.sampleProcess()

	size := max(10, *soakSwaps/measurings)
	for b.Loop() {
		for s.swaps < *soakSwaps && time.Since(s.began) < *soakWithin {
			s.runRound(min(size, *soakSwaps-s.swaps))
		}
	}

	s.verdict(b)
	windlass.ExpectRoles(b, w.c)
}

// soak is a run.
type soak struct {
	*load
	swaps      int
	swapping   time.Duration // spent on swaps
	calm, busy latencies
	memory     []memory
	profiled   int // quarters whose heap profile is written
	began      time.Time
}

// runRound makes so many swaps under load, and then looks at the same load without.
func (s *soak) runRound(n int) {
	s.t.Helper()
	from := time.Now()
	s.busy.add(s.runUnderLoad(func(ctx context.Context) error {
		for range n {
			if err := s.swapModule(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	took := time.Since(from)
	s.swapping += took
	s.settled()
	s.calm.add(s.runUnderLoad(func(ctx context.Context) error { return sleepFor(ctx, min(took/2, calmest)) }))
	s.settled()
	s.sampleProcess()
	left := time.Since(s.began) / time.Duration(s.swaps) * time.Duration(*soakSwaps-s.swaps)
	m := s.memory[len(s.memory)-1]
	fmt.Fprintf(os.Stderr, "%6d of %d swaps, %v left: %d ms each; heap %.1f MiB, resident %.0f MiB, %d goroutines, %d mappings, %d files; p99", s.swaps, *soakSwaps, left.Round(time.Second), (took / time.Duration(n)).Milliseconds(),
		toMebibytes(m.heap), toMebibytes(m.resident), m.goroutines, m.mappings, m.files)
	for _, name := range neighbours {
		fmt.Fprintf(os.Stderr, " %s %d ms, without swaps %d;",
			name, p99(s.busy[name]).Milliseconds(), p99(s.calm[name]).Milliseconds())
	}
	fmt.Fprintln(os.Stderr)
}

var neighbours = []string{"deployment", "endpointslice"}

// swapModule puts the next version in place and waits until it has written.
func (s *soak) swapModule(ctx context.Context) error {
	s.mu.Lock()
	next := s.versions + 1
	s.mu.Unlock()
	s.placeModule("replicaset", variant(s.t, "replicaset", s.swaps))
	s.m.Reload()
	err := s.waitUntil(ctx, fmt.Sprintf("version %d writes", next), func() (bool, error) { return s.wrote >= next, nil })
	s.swaps++
	return err
}

func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// promise is one line of the verdict.
type promise struct {
	what, figure, bound string
	holds               bool
}

// verdict tells what held, and fails the benchmark where something didn't.
func (s *soak) verdict(b *testing.B) {
	b.Helper()
	rolledBack := s.m.Count(b, "windlass_plugin_swaps_total", "plugin", "replicaset", "result", "rolled-back")
	failed := s.m.Count(b, "windlass_plugin_swaps_total", "plugin", "replicaset", "result", "failed")
	s.mu.Lock()
	versions, late, made, gone := s.versions, s.late, s.made, s.gone
	s.mu.Unlock()
	audited, auditedGone := s.podWrites("create"), s.podWrites("delete")
	all := []promise{
		{"versions that ran and wrote, the first one aside", fmt.Sprint(versions - 1), fmt.Sprint(s.swaps),
			versions-1 == s.swaps},
		{"versions rolled back or refused", fmt.Sprint(rolledBack + failed), "0", rolledBack+failed == 0},
		{"pods made, by the server's audit log", fmt.Sprint(audited), fmt.Sprint(s.ups), audited == s.ups && made == s.ups},
		{"pods deleted, by the server's audit log", fmt.Sprint(auditedGone), fmt.Sprint(s.downs),
			auditedGone == s.downs && gone == s.downs},
		{"writes of a version after a newer one's for the same key", fmt.Sprint(len(late)), "0", len(late) == 0},
	}

	for _, name := range neighbours {
		calm, busy := p99(s.calm[name]), p99(s.busy[name])
		ratio := float64(busy) / float64(calm)
		all = append(all, promise{fmt.Sprintf(
			"p99 of %s from a change to its answered write, beside the same without swaps (%d and %d times)",
			name, len(s.busy[name]), len(s.calm[name])),
			fmt.Sprintf("%.1f ms, %.1f ms: %.2f times", milliseconds(busy), milliseconds(calm), ratio),
			fmt.Sprint("at most ", slower, " times"),
			ratio <= slower})
		b.ReportMetric(ratio, name+"-p99-times")
	}

	for _, f := range figures {
		second, last, ok := s.quarters(f)
		if !ok {
			first, now := f.of(s.memory[0]), f.of(s.memory[len(s.memory)-1])
			all = append(all, promise{f.name + ": at the end, at the beginning",
				fmt.Sprintf("%s, %s", f.text(now), f.text(first)),
				fmt.Sprintf("not judged: the first %d swaps fill what is bounded, and too few came after", filling), true})
			continue
		}
		all = append(all, promise{f.name + ": median of the last quarter, of the second",
			fmt.Sprintf("%s, %s", f.text(last), f.text(second)),
			fmt.Sprintf("at most %.2f times and %s more", grown, f.text(f.slack)), last <= second*grown+f.slack})
	}

	out := &strings.Builder{}
	for _, p := range all {
		holds := "holds"
		if !p.holds {
			holds = "DOES NOT HOLD"
			b.Errorf("%s: %s, expected %s", p.what, p.figure, p.bound)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", p.what, p.figure, p.bound, holds)
	}

	for _, s := range late[:min(len(late), 10)] {
		b.Log(s)
	}
	fmt.Fprintf(os.Stderr, "\n%s\n", out)
	b.ReportMetric(float64(s.swapping.Milliseconds())/float64(s.swaps), "ms/swap")

	if *soakReport != "" {
		if err := os.WriteFile(*soakReport, s.document(out.String()), 0o600); err != nil {
			b.Error(err)
		}
	}
}

// document is docs/soak.md.
func (s *soak) document(verdict string) []byte {
	out := &strings.Builder{}
	fmt.Fprintf(out, `# %d swaps under load

`+"`make soak`"+` has written this. A manager with the controllers deployment, replicaset, endpointslice and serviceaccount runs against a real API server. replicaset is replaced again and again by a module of other
bytes in the plugin folder, while a Deployment goes up and down between %d and %d pods every %d ms, pods of %d others are deleted by somebody else, and a Service changes every %d ms. Each version has to write before
the next one comes. Rounds with swaps alternate with periods under the same load without swaps.

`, s.swaps, small, large, loadPeriod.Milliseconds(), quiet, probePeriod.Milliseconds())
	fmt.Fprintf(out, "%s, %s, %d processors, which the API server, etcd and the test share; load average at the end %s. A swap took %d ms on average, until its version had written.\n\n", time.Now().Format(time.DateOnly), runtime.Version(), runtime.NumCPU(), loadAverage(),
		s.swapping.Milliseconds()/int64(s.swaps))
	fmt.Fprintf(out, "| promise | figure | expected | |\n|---|---|---|---|\n%s\n", verdict)
	fmt.Fprintf(out, "| controller | | times | p50 | p90 | p99 | most |\n|---|---|---|---|---|---|---|\n")
	for _, name := range neighbours {
		for i, all := range [][]time.Duration{s.busy[name], s.calm[name]} {
			fmt.Fprintf(out, "| %s | %s | %d | %.1f ms | %.1f ms | %.1f ms | %.1f ms |\n",
				name, [2]string{"with swaps", "without"}[i], len(all), milliseconds(quantile(all, 50)),
				milliseconds(quantile(all, 90)), milliseconds(p99(all)),
				milliseconds(all[len(all)-1]))
		}
	}
	fmt.Fprintf(out, "\n## Memory\n\nOf the process with the manager and the test. Resident is before a collection, the rest after it. What the manager remembers up to a number (each controller's last 8,192 written versions, the last writes to 2,048 objects) fills within the first %d swaps.\n\n| swaps |", filling)
	for _, f := range figures {
		fmt.Fprintf(out, " %s |", f.name)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(figures)))
	for _, m := range s.memory {
		fmt.Fprintf(out, "| %d |", m.swaps)
		for _, f := range figures {
			fmt.Fprintf(out, " %s |", f.text(f.of(m)))
		}
		fmt.Fprintln(out)
	}
	return []byte(out.String())
}

func p99(all []time.Duration) time.Duration { return quantile(all, 99) }

func quantile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*percent/100]
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
