package manager

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/abi"
	"github.com/windlass-dev/windlass/host/plugins"
)

// What a further controller that has nothing to do may cost, in what doesn't hang on the machine.
const (
	furtherAllocations = 4000 // until it runs
	furtherWakeUps     = 100  // of goroutines, in an hour
)

// A further controller with nothing to do asks for nothing that others don't ask for, is begun with few allocations,
// and has no timer that ticks.
func TestFurtherController(t *testing.T) {
	const few, many = 4, 12
	a, b := idle(t, few), idle(t, many)
	each := func(a, b int) int { return (b - a) / (many - few) }
	for i := range 20 { // Go itself wakes goroutines now and then: the fewest of at least five times count
		if i >= 4 && each(a.wakeUps, b.wakeUps) <= furtherWakeUps {
			break
		}
		a.wakeUps, b.wakeUps = min(a.wakeUps, idle(t, few).wakeUps), min(b.wakeUps, idle(t, many).wakeUps)
	}

	if !maps.Equal(a.requests, b.requests) {
		t.Errorf("%d controllers asked for %v, %d for %v", few, a.requests, many, b.requests)
	}
	if n := each(a.allocations, b.allocations); n > furtherAllocations {
		t.Errorf("a further controller took %d allocations to start, more than %d", n, furtherAllocations)
	}
	if n := each(a.wakeUps, b.wakeUps); n > furtherWakeUps {
		t.Errorf("a further controller woke goroutines %d times in an hour, more than %d", n, furtherWakeUps)
	}
	t.Logf("%d and %d allocations, %d and %d wake-ups", a.allocations, b.allocations, a.wakeUps, b.wakeUps)
}

// costs are what a manager has taken.
type costs struct {
	requests             map[string]int
	allocations, wakeUps int // to start, in an hour
}

// idle has a manager run so many controllers, none of which has a key, for a virtual hour.
func idle(t *testing.T, controllers int) (c costs) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unwatched = true
		modules := &prepared{t: t, folder: w.folder, native: t.TempDir()}
		w.sources = []plugins.Source{modules}
		counted := &counter{RoundTripper: w.config.Transport, requests: map[string]int{}}
		w.config.Transport = counted
		var running []string
		for i := range controllers {
			name := fmt.Sprintf("idle-%02d", i)
			w.place(greeter(t, name, name, "", func(m *abi.Manifest) {
				m.Controllers[0].Views[0].Resource.Name = "services"
			}))
			running = append(running, name+"-0")
		}
		if _, errs := modules.Modules(); len(errs) > 0 {
			t.Fatal(errs)
		}

		from := allocations()
		w.begin()
		w.running(running...)
		c.allocations = allocations() - from

		over := make(chan struct{})
		defer close(over)
		modules.hold.Store(&over) // what the manager itself looks at every ten seconds doesn't count
		time.Sleep(2 * lookAgain)
		synctest.Wait()
		debug.FreeOSMemory()                             // nor what the collector has left to do
		defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector wakes its workers
		woken := wakeUps()
		time.Sleep(time.Hour)
		synctest.Wait()
		c.wakeUps = wakeUps() - woken
		c.requests = counted.all()
	})
	return c
}

// prepared are the modules of a folder as built-in ones with native code.
type prepared struct {
	t              *testing.T
	folder, native string
	hold           atomic.Pointer[chan struct{}] // what asks for modules waits for this
}

func (p *prepared) Modules() ([]*plugins.Plugin, []error) {
	if c := p.hold.Load(); c != nil {
		<-*c
	}
	all, errs := trusted(p.folder).Modules()
	giveCode(p.t, all, p.native)
	return all, errs
}

// counter counts requests.
type counter struct {
	http.RoundTripper

	mu       sync.Mutex
	requests map[string]int
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.requests[r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("watch")]++
	c.mu.Unlock()
	return c.RoundTripper.RoundTrip(r)
}

func (c *counter) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.requests)
}

func allocations() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Mallocs)
}

// wakeUps is about how often goroutines have begun to run: of eight one is counted.
func wakeUps() (n int) {
	s := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(s)
	for _, c := range s[0].Value.Float64Histogram().Counts {
		n += 8 * int(c)
	}
	return n
}
