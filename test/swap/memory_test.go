package swap

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
)

// memory is what the process has after so many swaps.
type memory struct {
	swaps                       int
	heap, resident              int // bytes
	goroutines, mappings, files int
}

// figure is one of memory's, and what it may grow by however small it is.
type figure struct {
	name  string
	of    func(memory) float64
	text  func(float64) string
	slack float64
}

var figures = []figure{
	{"Go's heap", func(m memory) float64 { return float64(m.heap) }, formatMebibytes, 1 << 20},
	{"resident", func(m memory) float64 { return float64(m.resident) }, formatMebibytes, 8 << 20},
	{"goroutines", func(m memory) float64 { return float64(m.goroutines) }, formatInteger, 5},
	{"mappings", func(m memory) float64 { return float64(m.mappings) }, formatInteger, 20},
	{"open files", func(m memory) float64 { return float64(m.files) }, formatInteger, 5},
}

func toMebibytes(bytes int) float64        { return float64(bytes) / (1 << 20) }
func formatMebibytes(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
func formatInteger(number float64) string  { return fmt.Sprintf("%.0f", number) }

// sampleProcess looks at the process. Finalizers free what wazero has mapped, so it takes a second collection until all
// is gone.
func (s *soak) sampleProcess() {
	s.t.Helper()
	m := memory{swaps: s.swaps, resident: resident(s.t)}
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.heap, m.goroutines = int(stats.HeapAlloc), runtime.NumGoroutine()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		s.t.Fatal(err)
	}

	m.mappings = strings.Count(string(maps), "\n")
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		s.t.Fatal(err)
	}

	m.files = len(files)
	s.memory = append(s.memory, m)
	if quarter := max(1, *soakSwaps/4); *soakHeaps != "" && s.swaps/quarter > s.profiled {
		s.profiled = s.swaps / quarter
		f, err := os.Create(filepath.Join(*soakHeaps, fmt.Sprintf("heap-%d.pprof", s.swaps)))
		if err != nil {
			s.t.Fatal(err)
		}
		defer f.Close()
		if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
			s.t.Fatal(err)
		}
	}
}

// filling is after how many swaps what the manager remembers up to a number is full: each controller's last 8,192
// written versions and the last writes to 2,048 objects. The cache's 32,768 deleted objects take longer, and two
// megabytes.
const filling = 1500

// quarters are the medians of a figure in the second and the last quarter of the run since then; false where there are
// too few samples to tell.
func (s *soak) quarters(f figure) (second, last float64, ok bool) {
	var all []float64
	for _, m := range s.memory {
		if m.swaps >= filling {
			all = append(all, f.of(m))
		}
	}
	n := len(all)
	if n < 8 {
		return 0, 0, false
	}
	return median(all[n/4 : n/2]), median(all[3*n/4:]), true
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// resident is how much memory the process has, in bytes.
func resident(t testing.TB) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Fatal("/proc/self/status has no VmRSS")
	return 0
}

// loadAverage is the machine's, of the last minutes.
func loadAverage() string {
	b, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(b))[:3], " ")
}
