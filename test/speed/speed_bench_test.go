// Package speed measures what the sandbox costs, beside the same code compiled natively.
package speed

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/windlass-dev/windlass/host/plugins/module"
	"github.com/windlass-dev/windlass/host/sandbox"
	builtin "github.com/windlass-dev/windlass/plugins"
)

// What is promised.
const (
	emptyMost   = 10 * time.Microsecond
	ratioMost   = 1.5
	sizeMost    = 150 << 10
	compileMost = 100 * time.Millisecond
	startMost   = time.Second
)

// figures are the lines of the table at the end.
var figures struct {
	sync.Mutex
	lines []string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if len(figures.lines) > 0 {
		fmt.Println()
		t := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
		for _, l := range figures.lines {
			fmt.Fprintln(t, l)
		}
		t.Flush()
	}
	os.Exit(code)
}

func addFigure(format string, args ...any) {
	figures.Lock()
	defer figures.Unlock()
	figures.lines = append(figures.lines, fmt.Sprintf(format, args...))
}

// cost is what a run takes: the fastest one on the clock, and the processor time of one of many, what the garbage
// collector does for it included.
type cost struct{ fastest, cpu time.Duration }

func measure(b *testing.B, name string, f func(testing.TB)) (c cost) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		c.fastest = time.Hour
		before := processorTime(b)
		for b.Loop() {
			from := time.Now()
			f(b)
			c.fastest = min(c.fastest, time.Since(from))
		}
		c.cpu = (processorTime(b) - before) / time.Duration(b.N)
		b.ReportMetric(float64(c.fastest.Nanoseconds()), "fastest-ns/op")
		b.ReportMetric(float64(c.cpu.Nanoseconds()), "cpu-ns/op")
	})
	return c
}

func BenchmarkEmptySync(b *testing.B) {
	w := newQuietTwin(b)
	native, whole := measure(b, "native", w.syncNatively), measure(b, "whole", w.syncWhole)
	addFigure("empty sync, all told\t%v\tat most %v\tnatively, without the host %v", whole.fastest, emptyMost,
		native.fastest)
}

func BenchmarkThousandPods(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(crowded)) {
		b.Run(name, func(b *testing.B) {
			w := crowded[name](b)
			native, sandboxed, whole := measure(b, "native", w.syncNatively), measure(b, "sandboxed", w.sandboxed),
				measure(b, "whole", w.syncWhole)
			addFigure("%s of 1,000 pods\t%.2f times native\tat most %v\tprocessor time %v and %v; fastest %v and %v, %v with its snapshot of %d KB", name,
				float64(sandboxed.cpu)/float64(native.cpu), ratioMost, roundDuration(sandboxed.cpu), roundDuration(native.cpu),
				roundDuration(sandboxed.fastest), roundDuration(native.fastest), roundDuration(whole.fastest), len(w.message)>>10)
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, name := range builtin.Names() {
		wasm, _ := builtin.Module(name)
		c := measure(b, name, func(t testing.TB) {
			m, err := sandbox.Load(context.Background(), wasm, sandbox.Options{Name: name, Helpers: module.Helpers})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
		addFigure("compiling %s\t%v\tat most %v\tprocessor time %v; %.1f KB, at most %d", name, roundDuration(c.fastest),
			compileMost,
			roundDuration(c.cpu), float64(len(wasm))/1024, sizeMost>>10)
	}
}

func roundDuration(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
