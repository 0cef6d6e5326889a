package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/figure"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := Median(c.of); got != c.want {
			t.Errorf("of %v: got %v, want %v", c.of, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("there is a median of nothing")
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[99-i] = time.Duration(i + 1)
	}
	for p, want := range map[int]time.Duration{0: 1, 1: 1, 50: 50, 99: 99, 100: 100} {
		if got := Percentile(hundred, p); got != want {
			t.Errorf("%d of a hundred: got %d, want %d", p, got, want)
		}
	}
	if got := Percentile([]int{7, 5}, 99); got != 7 {
		t.Errorf("99 of two: got %d, want 7", got)
	}
}

// example has one target of each verdict.
func example() Report {
	sets := func(values ...figure.Set) []figure.Set { return values }
	return Report{
		Setting: Setting{Time: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Cores: 2, CPU: "A <fast> one", Memory: 8 << 30,
			Native: "v1.37.0", Windlass: "v0", Pairs: 3, QPS: 1000, Controllers: []string{"a", "b"}},
		Scenarios: []Scenario{
			{Name: "idle-pods", Title: "idle & full",
				Native: sets(figure.Set{figure.Steady: 400 << 20, figure.CPU: 1},
					figure.Set{figure.Steady: 500 << 20, figure.CPU: 1}, figure.Set{figure.Steady: 600 << 20, figure.CPU: 1}),
				Windlass: sets(figure.Set{figure.Steady: 100 << 20, figure.CPU: 2, figure.Writes: 3},
					figure.Set{figure.Steady: 150 << 20, figure.CPU: 3, figure.Writes: 3},
					figure.Set{figure.Steady: 90 << 20, figure.CPU: 2.5, figure.Writes: 3})},
			{Name: "growth-1000", Native: sets(figure.Set{figure.Steady: 1e8, figure.PerEvent: 1e-3, figure.SyncTime: 1e-4}),
				Windlass: sets(figure.Set{figure.Steady: 5e7, figure.PerEvent: 1e-4, figure.SyncTime: 2e-4})},
			{Name: "growth-10000", Native: sets(figure.Set{figure.Steady: 1e9, figure.PerEvent: 2e-3, figure.SyncTime: 1e-4}),
				Windlass: sets(figure.Set{figure.Steady: 3e8, figure.PerEvent: 1e-4, figure.SyncTime: 2e-4})},
		},
	}
}

// The form tells how many pairs there are where some scenario has more.
func TestForm(t *testing.T) {
	r := example()
	if got := r.pairsText(); got != "3" {
		t.Errorf("got %q, want 3", got)
	}
	r.Scenarios[1].Windlass = make([]figure.Set, 7)
	if got := r.pairsText(); got != "3 to 7" {
		t.Errorf("got %q, want 3 to 7", got)
	}
}

func TestWrite(t *testing.T) {
	r, dir := example(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, reasons), []byte("# why\n\nidle-pods: CPU | it does more\n"), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}

	b, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}

	text := string(b)
	for _, want := range []string{
		"2 January 2026", "2 cores, A <fast> one, 8.0 GiB", "kube-controller-manager v1.37.0",
		"| idle-pods: memory, steady | 0.20 | 0.40 | holds |",
		"| idle-pods: CPU | 2.50 | 1.00 | **missed** ([profile](../docs/performance.md#idle-pods)): it does more |",
		"| idle-pods: API writes | ∞ | 1.00 | **missed** ([profile](../docs/performance.md#idle-pods)) |",
		"| 10000 | memory, steady | 953.7 MiB | 286.1 MiB | 0.30 |",
		"| memory, steady | 500.0 MiB (400.0 MiB to 600.0 MiB) | 100.0 MiB (90.0 MiB to 150.0 MiB) | 0.20 |",
		"| CPU | 1.00 s | 2.50 s (2.00 s to 3.00 s) | 2.50 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("RESULTS.md has no %q:\n%s", want, text)
		}
	}

	// Each picture that it shows is there, and is XML.
	shown := 0
	for line := range strings.Lines(text) {
		_, link, ok := strings.Cut(line, "](")
		if !ok || !strings.HasPrefix(line, "![") {
			continue
		}
		shown++
		f, err := os.Open(filepath.Join(dir, strings.TrimSuffix(strings.TrimSpace(link), ")")))
		if err != nil {
			t.Error(err)
			continue
		}
		defer f.Close()
		for d := xml.NewDecoder(f); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", link, err)
				break
			}
		}
	}

	if want := len(ratioPlots) + len(growthPlots); shown != want {
		t.Errorf("%d pictures are shown, want %d", shown, want)
	}
}

func TestPlots(t *testing.T) {
	plots := func() map[string][]byte { r := example(); return r.drawPlots() }()
	for file, want := range map[string][]string{
		"memory.svg":        {">idle-pods<", ">0.20<", better},
		"cpu.svg":           {">2.50<", worse},
		"growth-memory.svg": {">native<", ">windlass<", ">10000<", "<title>286.1 MiB</title>"},
	} {
		for _, w := range want {
			if !strings.Contains(string(plots[file]), w) {
				t.Errorf("%s has no %q:\n%s", file, w, plots[file])
			}
		}
	}
	for file, plot := range plots {
		if strings.Contains(string(plot), "NaN") || strings.Contains(string(plot), "Inf") ||
			strings.Contains(string(plot), "%!") {
			t.Errorf("%s has numbers that are none:\n%s", file, plot)
		}
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		name string
		v    float64
		want string
	}{
		{figure.Wall, 0, "0"}, {figure.P50, 0.0000123, "12.3 µs"}, {figure.P99, 0.25, "250 ms"},
		{figure.CPU, 12.345, "12.35 s"},
		{figure.Received, 2048, "2 KiB"}, {figure.Peak, 3 << 20, "3.0 MiB"}, {figure.Writes, 1234, "1234"},
	} {
		if got := formatValue(c.name, c.v); got != c.want {
			t.Errorf("%s of %v: got %q, want %q", c.name, c.v, got, c.want)
		}
	}
}
